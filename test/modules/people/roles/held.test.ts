import { describe, expect, test } from "bun:test";
import { hashApiToken, newApiToken as newText } from "#modules/people/api-tokens/rules";
import { hashInvitationToken, issueInvitationToken } from "#modules/people/members/rules";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { newApiToken } from "../../../support/server/api-tokens";
import { call } from "../../../support/server/call";
import { newOrganization, newUser } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const { sql } = world;
const HELD =
  "The role ORG_ADMIN is held here: it was changed in the database, and not by this server, or an upgrade did not stamp it. Ask who administers the server to look at it, and to run certitude secrets trust.";

type Person = Awaited<ReturnType<typeof newUser>>;

/** An organization with an admin, a member, and a user who has signed in. */
async function withPeople() {
  const organization = await newOrganization();
  const [admin, member, stranger] = [await organization.join(), await organization.join("ORG_MEMBER"), await newUser()];
  await stranger.call("GET", "/users/me");
  const as = ({ token }: { token: string }, role: string, method: string, path: string, body?: unknown) =>
    call(method, `/organizations/${organization.id}${path}`, { token, headers: organization.headers(role), ...(body !== undefined && { body }) });
  const isAdmin = async (person: { token: string }) => (await as(person, "ORG_ADMIN", "PATCH", "", { name: "Theirs" })).status;
  const events = async (action: string) => (await organization.admin("GET", `/audit-events?action=${action}`)).body.items;
  const rowOf = async (person: Person) => (await sql`select * from members where organization_id = ${organization.id} and user_id = ${person.id}`)[0];
  return { organization, admin, member, stranger, as, isAdmin, events, rowOf };
}
type People = Awaited<ReturnType<typeof withPeople>>;

const insertMember = ({ organization, stranger }: People, stamp: Uint8Array | null = null) => sql`
  insert into members (organization_id, id, user_id, email, role, status, stamp)
  values (${organization.id}, ${Bun.randomUUIDv7()}, ${stranger.id}, ${stranger.email}, 'ORG_ADMIN', 'active', ${stamp})`;

describe("an attacker who writes to the database makes itself no admin of an organization", () => {
  test.each<[string, (people: People) => PromiseLike<unknown>, "admin" | "member" | "stranger"]>([
    ["inserts an admin", (people) => insertMember(people), "stranger"],
    ["inserts an admin with the stamp of another", async (people) => insertMember(people, (await people.rowOf(people.admin))?.stamp), "stranger"],
    ["promotes a member", ({ member }) => sql`update members set role = 'ORG_ADMIN' where user_id = ${member.id}`, "member"],
    [
      "promotes a member, with the stamp of an admin",
      async (people) => sql`update members set role = 'ORG_ADMIN', stamp = ${(await people.rowOf(people.admin))?.stamp} where user_id = ${people.member.id}`,
      "member",
    ],
    [
      "puts another user into an admin's row",
      ({ admin, stranger }) => sql`update members set user_id = ${stranger.id} where user_id = ${admin.id}`,
      "stranger",
    ],
    ["deletes the stamp of an admin", ({ admin }) => sql`update members set stamp = null where user_id = ${admin.id}`, "admin"],
  ])("403: %s, which is audited once", async (_, attack, who) => {
    const people = await withPeople();
    await attack(people);
    const { as, events, rowOf, [who]: person } = people;
    for (let turn = 0; turn < 2; turn++) {
      const { status, body } = await as(person, "ORG_ADMIN", "PATCH", "", { name: "Theirs" });
      expect({ status, message: body.message }).toEqual({ status: 403, message: HELD });
    }
    expect(await Promise.all([people.isAdmin(person), people.isAdmin(person)])).toEqual([403, 403]);
    expect((await as(person, "ORG_ADMIN", "GET", "/api-tokens")).status).toBe(403);
    expect((await as(person, "ORG_MEMBER", "GET", "/members")).status).toBe(200);
    expect(await events("member.held")).toMatchObject([{ targetId: (await rowOf(person))?.id, targetType: "member", actor: { type: "server" } }]);
  });

  test("200: an admin whom the server let in, of whom nothing is audited", async () => {
    const { isAdmin, admin, member, events } = await withPeople();
    expect([await isAdmin(admin), await isAdmin(member)]).toEqual([200, 403]);
    expect(await events("member.held")).toEqual([]);
  });

  test("403: a gateway does not act in the name of an admin who is held", async () => {
    const people = await withPeople();
    await insertMember(people);
    const headers = { "x-user-id": people.stranger.id };
    const { status } = await people.organization.admin("POST", "/members", { headers, body: { email: "c@people.example" } });
    expect(status).toBe(403);
  });

  test("a row that is as it was counts again; another attack is audited again", async () => {
    const { isAdmin, admin, events, rowOf } = await withPeople();
    const stamp = (await rowOf(admin))?.stamp;
    await sql`update members set stamp = null where user_id = ${admin.id}`;
    expect(await isAdmin(admin)).toBe(403);
    await sql`update members set stamp = ${stamp} where user_id = ${admin.id}`;
    expect(await isAdmin(admin)).toBe(200);
    await sql`update members set stamp = null where user_id = ${admin.id}`;
    expect(await isAdmin(admin)).toBe(403);
    expect(await events("member.held")).toHaveLength(2);
  });

  test("409: a member who was not let in by the server is made no admin; one who was is made one, and a member again", async () => {
    const { organization, admin, member, stranger, isAdmin, rowOf } = await withPeople();
    const path = `/members/${(await rowOf(member))?.id}`;
    await sql`update members set user_id = ${stranger.id} where user_id = ${member.id}`;
    expect((await organization.admin("PATCH", path, { body: { role: "ORG_ADMIN" } })).status).toBe(409);
    await sql`update members set user_id = ${member.id} where user_id = ${stranger.id}`;
    for (const [role, status] of [
      ["ORG_ADMIN", 200],
      ["ORG_MEMBER", 403],
      ["ORG_ADMIN", 200],
    ] as const) {
      expect((await organization.admin("PATCH", path, { body: { role } })).status).toBe(200);
      expect(await isAdmin(member)).toBe(status);
    }
    expect(await isAdmin(admin)).toBe(200);
  });

  test("409: an admin who is held and made a member has no stamp, so that nothing proves the user", async () => {
    const people = await withPeople();
    await insertMember(people);
    const path = `/members/${(await people.rowOf(people.stranger))?.id}`;
    expect((await people.organization.admin("PATCH", path, { body: { role: "ORG_MEMBER" } })).status).toBe(200);
    expect((await people.organization.admin("PATCH", path, { body: { role: "ORG_ADMIN" } })).status).toBe(409);
  });
});

describe("an invitation", () => {
  const accept = (person: Person, token: string) => person.call("POST", "/invitations/accept", { body: { token } });

  test("403: of the database's own making, and one for another role, lets no admin in", async () => {
    const { organization, stranger, isAdmin } = await withPeople();
    const { token, tokenHash, expiresAt } = issueInvitationToken(new Date());
    await sql`
      insert into members (organization_id, id, email, role, status, invitation_token_hash, invitation_expires_at)
      values (${organization.id}, ${Bun.randomUUIDv7()}, ${stranger.email}, 'ORG_ADMIN', 'invited', decode(${tokenHash}, 'hex'), ${expiresAt})`;
    expect(await accept(stranger, token)).toMatchObject({ status: 403, body: { message: expect.stringContaining("Ask to be invited again.") } });
    expect((await organization.admin("POST", "/members", { body: { email: stranger.email } })).body.role).toBe("ORG_MEMBER");
    await sql`update members set invitation_token_hash = decode(${hashInvitationToken(token)}, 'hex'), role = 'ORG_ADMIN' where email = ${stranger.email}`;
    expect((await accept(stranger, token)).status).toBe(403);
    expect(await isAdmin(stranger)).toBe(403);
  });

  test("403: for an admin, sent to another address", async () => {
    const { organization, stranger } = await withPeople();
    const { token, tokenHash } = issueInvitationToken(new Date());
    const { body } = await organization.admin("POST", "/members", { body: { email: "boss@people.example", role: "ORG_ADMIN" } });
    await sql`
      update members set email = ${stranger.email}, invitation_token_hash = decode(${tokenHash}, 'hex') where organization_id = ${organization.id} and id = ${body.id}`;
    expect((await accept(stranger, token)).status).toBe(403);
  });

  test("200: for an admin, renewed without a role, keeps the role and makes an admin", async () => {
    const { organization, stranger, isAdmin } = await withPeople();
    await organization.admin("POST", "/members", { body: { email: stranger.email, role: "ORG_ADMIN" } });
    const { body } = await organization.admin("POST", "/members", { body: { email: stranger.email } });
    expect(body.role).toBe("ORG_ADMIN");
    const { token, tokenHash } = issueInvitationToken(new Date());
    await sql`update members set invitation_token_hash = decode(${tokenHash}, 'hex') where organization_id = ${organization.id} and id = ${body.id}`;
    expect((await accept(stranger, token)).status).toBe(200);
    expect(await isAdmin(stranger)).toBe(200);
  });
});

describe("an attacker who writes to the database makes no API token of an admin", () => {
  const insertToken = ({ organization }: People, token: string, stamp: Uint8Array | null = null) => sql`
    insert into api_tokens (organization_id, id, name, role, token_hash, created_by, stamp)
    values (${organization.id}, ${Bun.randomUUIDv7()}, 'theirs', 'ORG_ADMIN', decode(${hashApiToken(token)}, 'hex'), '{"type": "command-line"}', ${stamp})`;
  const stampOf = async (id: string) => (await sql`select stamp from api_tokens where id = ${id}`)[0]?.stamp;

  test.each<[string, (people: People, made: { id: string; token: string }) => Promise<string>]>([
    [
      "inserts one",
      async (people) => {
        const token = newText();
        await insertToken(people, token);
        return token;
      },
    ],
    [
      "inserts one with the stamp of another",
      async (people, { id }) => {
        const token = newText();
        await insertToken(people, token, await stampOf(id));
        return token;
      },
    ],
    [
      "puts its own text into one",
      async (_, { id }) => {
        const token = newText();
        await sql`update api_tokens set token_hash = decode(${hashApiToken(token)}, 'hex') where id = ${id}`;
        return token;
      },
    ],
    [
      "raises the role of one",
      async ({ organization }) => {
        const { id, token } = await newApiToken(organization, { role: "ORG_MEMBER" });
        await sql`update api_tokens set role = 'ORG_ADMIN' where id = ${id}`;
        return token;
      },
    ],
    [
      "has one live longer",
      async (_, { id, token }) => {
        await sql`update api_tokens set expires_at = now() + interval '9 years' where id = ${id}`;
        return token;
      },
    ],
    [
      "deletes the stamp of one",
      async (_, { id, token }) => {
        await sql`update api_tokens set stamp = null where id = ${id}`;
        return token;
      },
    ],
  ])("403: %s, which is audited once", async (_, attack) => {
    const people = await withPeople();
    const expiresAt = "2030-01-31T12:00:00.123456+02:00";
    const made = await newApiToken(people.organization, { role: "ORG_ADMIN", expiresAt });
    expect(await people.isAdmin(made)).toBe(200);
    const token = await attack(people, made);
    expect(await Promise.all([people.isAdmin({ token }), people.isAdmin({ token })])).toEqual([403, 403]);
    expect((await people.as({ token }, "ORG_MEMBER", "GET", "/members")).status).toBe(200);
    expect(await people.events("api-token.held")).toMatchObject([{ targetType: "api-token", actor: { type: "server" } }]);
  });
});

describe("an attacker who writes to the database makes no platform admin", () => {
  const isAdmin = async (user: Person) => (await user.call("GET", "/admin/organizations", { headers: { "x-user-id": user.id } })).status;
  const received = (user: Person) => sql`select action from platform_audit_events where target_id = ${user.id} and action = 'platform-admin.held'`;

  test("403: of a user, with the stamp of another too, which is audited once; a grant on the command line makes it one", async () => {
    const [admin, user] = [await newUser(), await newUser()];
    for (const each of [admin, user]) await each.call("GET", "/users/me");
    await grantPlatformAdmin(sql, world.deps.stamps, admin.id, true);
    expect(await isAdmin(admin)).toBe(200);
    await sql`update users set platform_admin = true where id = ${user.id}`;
    expect([await isAdmin(user), await isAdmin(user)]).toEqual([403, 403]);
    await sql`update users set platform_admin_stamp = (select platform_admin_stamp from users where id = ${admin.id}) where id = ${user.id}`;
    expect(await isAdmin(user)).toBe(403);
    expect(await received(user)).toHaveLength(1);
    await grantPlatformAdmin(sql, world.deps.stamps, user.id, true);
    expect(await isAdmin(user)).toBe(200);
    await grantPlatformAdmin(sql, world.deps.stamps, user.id, false);
    expect(await isAdmin(user)).toBe(403);
    expect(await received(user)).toHaveLength(1);
  });

  test("403: without its stamp, nor may it change a seat limit", async () => {
    const organization = await newOrganization();
    const user = await organization.join();
    await sql`update users set platform_admin = true where id = ${user.id}`;
    const wish = { headers: organization.headers("ORG_ADMIN"), body: { seatLimit: 9 } };
    expect((await user.call("PATCH", `/organizations/${organization.id}`, wish)).status).toBe(403);
  });
});
