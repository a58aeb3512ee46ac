import { describe, expect, test } from "bun:test";
import { hashInvitationToken } from "#modules/people/members/rules";
import { call } from "../../../support/server/call";
import { newOrganization, newUser, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

/** Invites an address and puts a token of the test's own in the place of the one that only its owner sees. */
async function invited(organization: TestOrganization, email: string) {
  const { body } = await organization.admin("POST", "/members", { body: { email } });
  const token = crypto.randomUUID();
  await world.sql`update members set invitation_token_hash = decode(${hashInvitationToken(token)}, 'hex') where organization_id = ${organization.id} and id = ${body.id}`;
  return { id: body.id as string, token };
}

const memberOf = async (organization: TestOrganization, email: string) =>
  (await organization.admin("GET", "/members")).body.items.find((each: { email: string }) => each.email === email);

describe("POST /invitations/accept", () => {
  test("401 for a stranger", async () => {
    expect(await call("POST", "/invitations/accept", { body: {} })).toMatchObject({ status: 401, body: "" });
  });

  test.each([{}, { token: "" }, { token: 5 }, { token: "x".repeat(201) }, { token: "x", organizationId: "y" }])("400 for %j", async (body) => {
    const user = await newUser();
    expect((await user.call("POST", "/invitations/accept", { body })).status).toBe(400);
  });

  test("404 for a token that is not known, was used, or has expired", async () => {
    const organization = await newOrganization();
    const user = await newUser();
    expect((await user.call("POST", "/invitations/accept", { body: { token: "unknown" } })).status).toBe(404);
    const { token, id } = await invited(organization, user.email);
    await world.sql`update members set invitation_expires_at = now() - interval '1 second' where organization_id = ${organization.id} and id = ${id}`;
    expect((await user.call("POST", "/invitations/accept", { body: { token } })).status).toBe(404);
  });

  test("403 for another e-mail address", async () => {
    const organization = await newOrganization();
    const [owner, thief] = [await newUser(), await newUser()];
    const { token } = await invited(organization, owner.email);
    expect((await thief.call("POST", "/invitations/accept", { body: { token } })).status).toBe(403);
  });

  test.each([false, undefined, null, "true", "false", 1, ["true"], {}])("403 for the right e-mail address with email_verified %j", async (email_verified) => {
    const organization = await newOrganization();
    const owner = await newUser({ email_verified });
    const { token } = await invited(organization, owner.email);
    expect((await owner.call("POST", "/invitations/accept", { body: { token } })).status).toBe(403);
  });

  test("409 for a user who is a member under another address", async () => {
    const organization = await newOrganization();
    const member = await organization.join();
    const email = `${crypto.randomUUID()}@people.example`;
    const sameUser = await newUser({ sub: member.id, email });
    const { token } = await invited(organization, email);
    expect(await call("POST", "/invitations/accept", { token: sameUser.token, body: { token } })).toMatchObject({ status: 409, body: {} });
  });

  test("409 for all but one of a user's four addresses, accepted at once", async () => {
    const organization = await newOrganization();
    const id = crypto.randomUUID();
    const users = await Promise.all([1, 2, 3, 4].map((each) => newUser({ sub: id, email: `${id}-${each}@people.example` })));
    const invitations = await Promise.all(users.map((_, index) => invited(organization, `${id}-${index + 1}@people.example`)));
    const statuses = await Promise.all(
      users.map(async ({ token }, index) => (await call("POST", "/invitations/accept", { token, body: { token: invitations[index]?.token } })).status),
    );
    expect(statuses.toSorted()).toEqual([200, 409, 409, 409]);
  });

  test("200 once, for exactly one of ten at once, and the user is in", async () => {
    const organization = await newOrganization();
    const user = await newUser();
    const { token, id } = await invited(organization, user.email);
    const answers = await Promise.all(Array.from({ length: 10 }, () => user.call("POST", "/invitations/accept", { body: { token } })));
    expect(answers.filter((each) => each.status === 200)).toMatchObject([{ body: { id, userId: user.id, status: "active", invitationExpiresAt: null } }]);
    expect(answers.filter((each) => [404, 409].includes(each.status))).toHaveLength(9);
    expect((await user.call("GET", "/users/me")).body.memberships).toMatchObject([{ organizationId: organization.id, role: "ORG_MEMBER" }]);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items[0]).toMatchObject({ action: "member.joined", targetId: id, actor: { type: "user", id: user.id } });
  });
});

describe("the header x-user-id of a plain member", () => {
  test("matters on an invitation alone", async () => {
    const organization = await newOrganization();
    const [admin, member] = [await organization.join(), await organization.join("ORG_MEMBER")];
    const [{ id }, other] = [await memberOf(organization, member.email), await memberOf(organization, admin.email)];
    for (const name of [member.id, "nonsense"]) {
      const headers = { "x-user-id": name };
      expect((await organization.member("GET", "/members", { headers })).status).toBe(200);
      expect((await organization.admin("PATCH", `/members/${id}`, { body: { role: "ORG_MEMBER" }, headers })).status).toBe(200);
      expect((await organization.admin("DELETE", `/members/${other.id}`, { headers })).status).toBe(409);
      expect((await organization.admin("POST", "/members", { body: { email: "a@b.example" }, headers })).status).toBe(403);
    }
  });
});

describe("GET /organizations/{organizationId}/members", () => {
  test("200 oldest first, page by page", async () => {
    const organization = await newOrganization();
    const emails = [];
    for (let index = 0; index < 3; index++) emails.push((await organization.join("ORG_MEMBER")).email);
    const first = (await organization.member("GET", "/members?limit=2")).body;
    const second = (await organization.member("GET", `/members?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...second.items].map((each: { email: string }) => each.email)).toEqual(emails);
    expect(second.nextCursor).toBeNull();
  });
});

describe("PATCH /organizations/{organizationId}/members/{memberId}", () => {
  test("403 for an ORG_MEMBER, 400 for a bad role, 404 for another organization's member", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const { email } = await organization.join();
    const { id } = await memberOf(organization, email);
    expect((await organization.member("PATCH", `/members/${id}`, { body: {} })).status).toBe(403);
    expect((await organization.admin("PATCH", `/members/${id}`, { body: { role: "KING" } })).status).toBe(400);
    expect((await other.admin("PATCH", `/members/${id}`, { body: { role: "ORG_ADMIN" } })).status).toBe(404);
    expect((await other.admin("PATCH", "/members/x", { body: { role: "ORG_ADMIN" } })).status).toBe(404);
  });

  test("409 for the last admin, 412 for a stale If-Match, 200 otherwise", async () => {
    const organization = await newOrganization();
    const [admin, other] = [await organization.join(), await organization.join("ORG_MEMBER")];
    const { id } = await memberOf(organization, admin.email);
    const second = await memberOf(organization, other.email);
    expect(await organization.admin("PATCH", `/members/${id}`, { body: { role: "ORG_MEMBER" } })).toMatchObject({ status: 409, body: {} });
    const stale = { body: { role: "ORG_ADMIN" }, headers: { "if-match": '"7"' } };
    expect(await organization.admin("PATCH", `/members/${second.id}`, stale)).toMatchObject({ status: 412, body: {} });
    const changed = await organization.admin("PATCH", `/members/${second.id}`, { body: { role: "ORG_ADMIN" }, headers: { "if-match": '"2"' } });
    expect(changed).toMatchObject({ status: 200, body: { role: "ORG_ADMIN", version: 3 } });
    expect(changed.headers.get("etag")).toBe('"3"');
    expect((await organization.admin("PATCH", `/members/${id}`, { body: { role: "ORG_MEMBER" } })).status).toBe(200);
  });

  test("200 for the same role changes nothing", async () => {
    const organization = await newOrganization();
    const { email } = await organization.join();
    const member = await memberOf(organization, email);
    expect((await organization.admin("PATCH", `/members/${member.id}`, { body: { role: "ORG_ADMIN" } })).body).toEqual(member);
  });
});

describe("DELETE /organizations/{organizationId}/members/{memberId}", () => {
  test("409 for one of two admins who leave at once: an admin always stays", async () => {
    const organization = await newOrganization();
    const admins = [await organization.join(), await organization.join()];
    const ids = await Promise.all(admins.map(async (each) => (await memberOf(organization, each.email)).id));
    const answers = await Promise.all(ids.map((id) => organization.admin("DELETE", `/members/${id}`)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([204, 409]);
  });

  test("204 and the user is out at once; an invitation is withdrawn", async () => {
    const organization = await newOrganization();
    const [, user, guest] = [await organization.join(), await organization.join("ORG_MEMBER"), await newUser()];
    const member = await memberOf(organization, user.email);
    const { id, token } = await invited(organization, guest.email);
    const list = () => call("GET", `/organizations/${organization.id}/members`, { token: user.token, headers: organization.headers("ORG_MEMBER") });
    expect((await list()).status).toBe(200);
    expect(await organization.admin("DELETE", `/members/${member.id}`)).toMatchObject({ status: 204, body: "" });
    expect((await list()).status).toBe(403);
    expect((await organization.admin("DELETE", `/members/${member.id}`)).status).toBe(404);
    expect((await organization.admin("DELETE", `/members/${id}`)).status).toBe(204);
    expect((await guest.call("POST", "/invitations/accept", { body: { token } })).status).toBe(404);
  });
});
