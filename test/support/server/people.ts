import { SignJWT } from "jose";
import { acceptInvitation, inviteMember } from "#modules/people/members/queries/invitations";
import { addAdmin } from "#modules/people/members/queries/members";
import { issueInvitationToken } from "#modules/people/members/rules";
import { createOrganization } from "#modules/people/organizations/queries";
import { saveUser } from "#modules/people/users/queries";
import { call, type Wish } from "./call";
import { JWT_SECRET, world } from "./world";

type Claims = Record<string, unknown>;

/** A token as an identity provider with the shared secret would sign it, valid for an hour unless the claims say otherwise. */
export function sign(claims: Claims, { secret = JWT_SECRET, alg = "HS256", header = {} }: { secret?: string; alg?: string; header?: object } = {}) {
  const now = Math.floor(Date.now() / 1000);
  return new SignJWT({ iat: now, exp: now + 3_600, jti: crypto.randomUUID(), ...claims })
    .setProtectedHeader({ ...header, alg })
    .sign(new TextEncoder().encode(secret));
}

/** A user with a token of their own. */
export async function newUser(claims: Claims = {}) {
  const id = crypto.randomUUID();
  const email = `${id}@people.example`;
  const token = await sign({ sub: id, email, email_verified: true, name: "Ada Lovelace", ...claims });
  return { id, email, token, call: (method: string, path: string, wish: Wish = {}) => call(method, path, { token, ...wish }) };
}

const by = { actor: { type: "command-line" as const }, requestId: null };

/** An organization of the test's own; `admin` and `member` call with its headers alone, as a trusted gateway does. */
export async function newOrganization({ seatLimit }: { seatLimit?: number } = {}) {
  const id = Bun.randomUUIDv7();
  await createOrganization(world.sql, { id, name: `Organization ${id}`, seatLimit }, by);
  const headers = (role: string) => ({ "x-organization-id": id, "x-organization-role": role });
  const as =
    (role: string) =>
    (method: string, path: string, wish: Wish = {}) =>
      call(method, `/organizations/${id}${path}`, { ...wish, headers: { ...headers(role), ...wish.headers } });
  const scope = { ...by, organizationId: id };
  /** A user who is an active member, ORG_ADMIN unless said. */
  async function join(role: "ORG_ADMIN" | "ORG_MEMBER" = "ORG_ADMIN") {
    const user = await newUser();
    await saveUser(world.sql, { userId: user.id, email: user.email, name: null });
    if (role === "ORG_ADMIN") await addAdmin(world.sql, world.deps.stamps, scope, { userId: user.id, email: user.email });
    else await accept(user);
    return user;
  }
  async function accept(user: { id: string; email: string }) {
    const { tokenHash, expiresAt } = issueInvitationToken(new Date());
    await inviteMember(world.sql, world.deps.stamps, scope, { email: user.email, tokenHash, expiresAt, isShown: false, mailId: null });
    await acceptInvitation(world.sql, world.deps.stamps, { tokenHash, userId: user.id, email: user.email }, crypto.randomUUID());
    await world.sql`delete from notification_events where organization_id = ${id} and kind in ('member_invited', 'member_joined')`; // tests begin after it
  }
  return { id, headers, scope, admin: as("ORG_ADMIN"), member: as("ORG_MEMBER"), join };
}

export type TestOrganization = Awaited<ReturnType<typeof newOrganization>>;
