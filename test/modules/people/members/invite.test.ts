import { describe, expect, test } from "bun:test";
import { newOrganization, newUser, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const invite = (organization: TestOrganization, body: unknown, headers: Record<string, string> = {}) =>
  organization.admin("POST", "/members", { body, headers });
/** Lets an invitation's seven days pass. */
const expire = (organization: TestOrganization, id: string) =>
  world.sql`update members set invitation_expires_at = now() - interval '1 second' where organization_id = ${organization.id} and id = ${id}`;
const newEmail = () => `${crypto.randomUUID()}@people.example`;

describe("POST /organizations/{organizationId}/members", () => {
  test("403 for an ORG_MEMBER, before the body is looked at", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", "/members", { body: { email: 1 } })).status).toBe(403);
  });

  test("403 for an x-user-id that is no ORG_ADMIN of the organization, before the body is looked at", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const [member, stranger] = [await organization.join("ORG_MEMBER"), await other.join()];
    for (const id of [member.id, stranger.id, crypto.randomUUID(), "nonsense", ""])
      expect((await invite(organization, { nonsense: 1 }, { "x-user-id": id })).status).toBe(403);
  });

  test.each([
    [{}, "body.email is required."],
    [{ email: "nope" }, "body.email must be an e-mail address."],
    [{ email: "a@b" }, "body.email must be an e-mail address."],
    [{ email: `${"a".repeat(250)}@b.example` }, "body.email must be an e-mail address."],
    [{ email: "a b@example.org" }, "body.email must be an e-mail address."],
    [{ email: "a\0@example.org" }, "body.email must be an e-mail address."],
    [{ email: 5 }, "body.email must be an e-mail address."],
    [{ email: "a@b.example", firstName: "" }, "body.firstName must be text of 1 to 200 characters, without NUL."],
    [{ email: "a@b.example", lastName: "x".repeat(201) }, "body.lastName must be text of 1 to 200 characters, without NUL."],
    [{ email: "a@b.example", role: "OWNER" }, "body.role must be one of ORG_ADMIN, ORG_MEMBER."],
    [{ email: "a@b.example", admin: true }, "body.admin is not a known field."],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    expect(await invite(organization, body)).toMatchObject({ status: 400, body: { message } });
  });

  test("400 for the address of a member", async () => {
    const organization = await newOrganization();
    const { email } = await organization.join();
    expect(await invite(organization, { email: email.toUpperCase() })).toMatchObject({
      status: 400,
      body: { message: "body.email belongs to a member already." },
    });
  });

  test("403 when every seat is taken, by invitations too; a pending one can still be sent again", async () => {
    const organization = await newOrganization({ seatLimit: 2 });
    const first = newEmail();
    expect((await invite(organization, { email: first })).status).toBe(201);
    expect((await invite(organization, { email: newEmail() })).status).toBe(201);
    expect((await invite(organization, { email: newEmail() })).status).toBe(403);
    expect((await invite(organization, { email: first })).status).toBe(201);
  });

  test("201 in the place of an invitation that has expired: it holds no seat, until it is sent again", async () => {
    const organization = await newOrganization({ seatLimit: 1 });
    const [first, second] = [newEmail(), newEmail()];
    const { body } = await invite(organization, { email: first });
    expect((await invite(organization, { email: second })).status).toBe(403);
    await expire(organization, body.id);
    const taken = await invite(organization, { email: second });
    expect(taken.status).toBe(201);
    expect(await invite(organization, { email: first })).toMatchObject({ status: 403, body: { message: "Every seat of this organization is taken." } });
    await expire(organization, taken.body.id);
    expect(await invite(organization, { email: first })).toMatchObject({ status: 201, body: { id: body.id, status: "invited" } });
  });

  test("201 again without role and names keeps those that it has, with them changes them", async () => {
    const organization = await newOrganization();
    const email = newEmail();
    await invite(organization, { email, role: "ORG_ADMIN", firstName: "Grace", lastName: "Hopper" });
    expect((await invite(organization, { email })).body).toMatchObject({ role: "ORG_ADMIN", firstName: "Grace", lastName: "Hopper", version: 2 });
    expect((await invite(organization, { email, role: "ORG_MEMBER" })).body).toMatchObject({ role: "ORG_MEMBER", firstName: "Grace", version: 3 });
  });

  test("201 for exactly as many of twenty racing invitations as there are seats", async () => {
    const organization = await newOrganization({ seatLimit: 5 });
    const answers = await Promise.all(Array.from({ length: 20 }, () => invite(organization, { email: newEmail() })));
    expect(answers.filter((each) => each.status === 201)).toHaveLength(5);
    expect(answers.filter((each) => each.status === 403)).toHaveLength(15);
    expect((await organization.admin("GET", "/members")).body.items).toHaveLength(5);
  });

  test("201 the member, invited, with the address in lower case and never the token", async () => {
    const organization = await newOrganization();
    const { status, body, text } = await invite(organization, { email: "Grace@Example.ORG", firstName: " Grace ", lastName: "Hopper" });
    expect({ status, body }).toMatchObject({
      status: 201,
      body: {
        organizationId: organization.id,
        userId: null,
        email: "grace@example.org",
        firstName: "Grace",
        lastName: "Hopper",
        role: "ORG_MEMBER",
        status: "invited",
      },
    });
    expect(text).not.toMatch(/token/i);
  });

  test("201 again refreshes the same invitation, ten at once too", async () => {
    const organization = await newOrganization();
    const email = newEmail();
    const answers = await Promise.all(Array.from({ length: 10 }, () => invite(organization, { email })));
    expect(new Set(answers.map((each) => `${each.status} ${each.body.id}`)).size).toBe(1);
    const again = await invite(organization, { email, role: "ORG_ADMIN", firstName: "Grace" });
    expect(again.body).toMatchObject({ id: answers[0]?.body.id, role: "ORG_ADMIN", firstName: "Grace", status: "invited" });
  });

  test("201 keeps in the audit trail whom x-user-id names, and who sent it", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    const { body } = await invite(organization, { email: newEmail() }, { "x-user-id": admin.id });
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({
      action: "member.invited",
      targetId: body.id,
      actor: { type: "user", id: admin.id, role: "ORG_ADMIN", via: { type: "gateway" } },
    });
  });

  test("201 in each of two organizations for one address", async () => {
    const [one, two] = [await newOrganization(), await newOrganization()];
    const { email } = await newUser();
    expect((await invite(one, { email })).status).toBe(201);
    expect((await invite(two, { email })).status).toBe(201);
  });
});
