import { describe, expect, test } from "bun:test";
import { rootCertificates } from "node:tls";
import { sendRaw } from "../auth/servers";
import { call } from "../support/server/call";
import { newOrganization, newUser, sign, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

const LIST = "/certs/monitoring/top-expiring";
const NO_ACCESS = { status: 403, body: { message: "You have no access to this organization." } };
const WRONG_ID = { status: 403, body: { message: "The header x-organization-id must be the UUID in the path." } };
const WRONG_ROLE = { status: 403, body: { message: "The header x-organization-role must be ORG_ADMIN or ORG_MEMBER." } };
const NEEDS_ADMIN = { status: 403, body: { message: "This needs the role ORG_ADMIN." } };

const list = (id: string, headers: Record<string, string>, token?: string) => call("GET", `/organizations/${id}${LIST}`, { headers, token });
/** A body that would be 400, were it read. */
const write = (id: string, headers: Record<string, string>, token?: string) =>
  call("POST", `/organizations/${id}/certificates`, { headers: { "content-type": "application/json", ...headers }, raw: "{", token });
const auditOf = async (organization: TestOrganization) =>
  world.sql`select actor, action from audit_events where organization_id = ${organization.id} and action like 'certificate%' order by id`;

describe("the organization headers", () => {
  test.each([
    ["neither", {}, WRONG_ROLE],
    ["no role", { "x-organization-role": undefined }, WRONG_ROLE],
    ["no id", { "x-organization-id": undefined }, WRONG_ID],
    ["an empty role", { "x-organization-role": "" }, WRONG_ROLE],
    ["an unknown role", { "x-organization-role": "OWNER" }, WRONG_ROLE],
    ["a role in lower case", { "x-organization-role": "org_admin" }, WRONG_ROLE],
    ["two roles in one", { "x-organization-role": "ORG_ADMIN,ORG_ADMIN" }, WRONG_ROLE],
    ["a role after a smaller one", { "x-organization-role": "ORG_MEMBER, ORG_ADMIN" }, WRONG_ROLE],
    ["an empty id", { "x-organization-id": "" }, WRONG_ID],
    ["another organization's id", { "x-organization-id": crypto.randomUUID() }, WRONG_ID],
    ["an id that is no UUID", { "x-organization-id": "1" }, WRONG_ID],
    ["an id without hyphens", { "x-organization-id": crypto.randomUUID().replaceAll("-", "") }, WRONG_ID],
  ])("403 with %s", async (name, change, refusal) => {
    const { id, headers } = await newOrganization();
    const all: Record<string, string | undefined> = name === "neither" ? {} : { ...headers("ORG_ADMIN"), ...change };
    const sent = Object.fromEntries(Object.entries(all).filter((each): each is [string, string] => each[1] !== undefined));
    expect(await list(id, sent)).toMatchObject(refusal);
    expect(await write(id, sent)).toMatchObject(refusal);
  });

  test("403 with the right id twice, in one line or in two", async () => {
    const { id, headers } = await newOrganization();
    expect(await list(id, { ...headers("ORG_ADMIN"), "x-organization-id": `${id},${id}` })).toMatchObject(WRONG_ID);
    const request = [`GET /organizations/${id}${LIST} HTTP/1.1`, "host: localhost", `x-organization-id: ${id}`, "x-organization-role: ORG_ADMIN"];
    expect(await sendRaw(world.url, request)).toBe(200);
    expect(await sendRaw(world.url, [...request, `x-organization-id: ${id}`])).toBe(403);
    expect(await sendRaw(world.url, [...request, "X-Organization-Role: ORG_ADMIN"])).toBe(403);
    expect(await sendRaw(world.url, [...request, "X-Organization-Role: ORG_MEMBER"])).toBe(403);
  });

  test("403 for an organization that does not exist, and for a path that names none", async () => {
    const { headers } = await newOrganization();
    const id = crypto.randomUUID();
    expect(await list(id, { ...headers("ORG_ADMIN"), "x-organization-id": id })).toMatchObject(NO_ACCESS);
    expect(await list("nonsense", { ...headers("ORG_ADMIN"), "x-organization-id": "nonsense" })).toMatchObject(WRONG_ID);
    expect(await list("%00", { ...headers("ORG_ADMIN") })).toMatchObject(WRONG_ID);
  });

  test("403 for a write in the role ORG_MEMBER, before the body is read", async () => {
    const { id, headers } = await newOrganization();
    expect(await write(id, headers("ORG_MEMBER"))).toMatchObject(NEEDS_ADMIN);
    expect((await write(id, headers("ORG_ADMIN"))).status).toBe(400);
  });

  test("403 for a member where reading needs ORG_ADMIN", async () => {
    const { admin, member } = await newOrganization();
    expect(await member("GET", "/audit-events")).toMatchObject(NEEDS_ADMIN);
    expect((await admin("GET", "/audit-events")).status).toBe(200);
  });

  test("200 in either role, and for the same UUID in upper case", async () => {
    const { id, headers } = await newOrganization();
    expect((await list(id, headers("ORG_MEMBER"))).status).toBe(200);
    expect((await list(id, headers("ORG_ADMIN"))).status).toBe(200);
    expect((await list(id, { ...headers("ORG_ADMIN"), "x-organization-id": id.toUpperCase() })).status).toBe(200);
    expect((await list(id.toUpperCase(), headers("ORG_ADMIN"))).status).toBe(200);
  });
});

describe("the organization headers with a user token", () => {
  test("401 for a bad one, though the headers alone would do", async () => {
    const { id, headers } = await newOrganization();
    const forged = await sign({ sub: crypto.randomUUID() }, { secret: "the secret of somebody else, long enough" });
    expect(await list(id, headers("ORG_ADMIN"), forged)).toMatchObject({ status: 401, body: "" });
    expect(await write(id, headers("ORG_ADMIN"), "nonsense")).toMatchObject({ status: 401, body: "" });
    expect(await list(id, { ...headers("ORG_ADMIN"), authorization: "Basic QTpC" })).toMatchObject({ status: 401, body: "" });
    expect(await list(id, { ...headers("ORG_ADMIN"), authorization: "" })).toMatchObject({ status: 401, body: "" });
  });

  test("403 for a user of another organization, in the same words as for one that does not exist", async () => {
    const [mine, yours] = [await newOrganization(), await newOrganization()];
    const { token } = await mine.join();
    expect(await list(yours.id, yours.headers("ORG_MEMBER"), token)).toMatchObject(NO_ACCESS);
    expect(await list(yours.id, mine.headers("ORG_MEMBER"), token)).toMatchObject(WRONG_ID);
    const nowhere = crypto.randomUUID();
    expect(await list(nowhere, { ...mine.headers("ORG_MEMBER"), "x-organization-id": nowhere }, token)).toMatchObject(NO_ACCESS);
    expect(await write(yours.id, yours.headers("ORG_ADMIN"), (await newUser()).token)).toMatchObject(NO_ACCESS);
  });

  test("403 for someone who is invited and has not come yet", async () => {
    const organization = await newOrganization();
    const { id, token } = await organization.join();
    await world.sql`update members set status = 'invited' where organization_id = ${organization.id} and user_id = ${id}`;
    expect(await list(organization.id, organization.headers("ORG_MEMBER"), token)).toMatchObject(NO_ACCESS);
  });

  test("403 for a role above one's own", async () => {
    const { id, headers, join } = await newOrganization();
    const { token } = await join("ORG_MEMBER");
    expect(await list(id, headers("ORG_ADMIN"), token)).toMatchObject(NEEDS_ADMIN);
    expect(await write(id, headers("ORG_ADMIN"), token)).toMatchObject(NEEDS_ADMIN);
    expect((await list(id, headers("ORG_MEMBER"), token)).status).toBe(200);
  });

  test("403 for an admin's write in the role ORG_MEMBER; reading is fine", async () => {
    const { id, headers, join } = await newOrganization();
    const { token } = await join();
    expect(await write(id, headers("ORG_MEMBER"), token)).toMatchObject(NEEDS_ADMIN);
    expect((await list(id, headers("ORG_MEMBER"), token)).status).toBe(200);
  });

  test("403 from the moment that the membership ends", async () => {
    const organization = await newOrganization();
    const { id, token } = await organization.join();
    expect((await list(organization.id, organization.headers("ORG_ADMIN"), token)).status).toBe(200);
    await world.sql`delete from members where organization_id = ${organization.id} and user_id = ${id}`;
    expect(await list(organization.id, organization.headers("ORG_ADMIN"), token)).toMatchObject(NO_ACCESS);
  });
});

describe("the audit trail", () => {
  test("names the user who acted, or the gateway", async () => {
    const organization = await newOrganization();
    const { id, token } = await organization.join();
    const [one = "", two = ""] = rootCertificates;
    expect((await organization.admin("POST", "/certificates", { body: { pem: one }, token })).status).toBe(201);
    expect((await organization.admin("POST", "/certificates", { body: { pem: two } })).status).toBe(201);
    expect((await auditOf(organization)).map(({ actor }) => actor)).toEqual([
      { type: "user", id, role: "ORG_ADMIN" },
      { type: "gateway", role: "ORG_ADMIN" },
    ]);
  });
});
