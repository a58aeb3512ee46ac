import { describe, expect, test } from "bun:test";
import { API_TOKENS, newApiToken } from "../../../support/server/api-tokens";
import { call } from "../../../support/server/call";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";
import { world } from "../../../support/server/world";

const RIGHT = { name: "Pipeline", role: "ORG_MEMBER" };
const ANOTHER = { ...RIGHT, name: "One more" };
const create = (organization: TestOrganization, body: unknown = RIGHT, token?: string) => organization.admin("POST", API_TOKENS, { body, token });
const eventsOf = async (organization: TestOrganization, action: string) =>
  (await organization.admin("GET", "/audit-events?limit=100")).body.items.filter((each: { action: string }) => each.action === action);
const ahead = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

/** Gives the organization `count` tokens at once. */
const fill = (organization: TestOrganization, count: number, expiresAt: string | null = null) => world.sql`
  insert into api_tokens (organization_id, id, name, role, token_hash, created_by, expires_at)
  select ${organization.id}, gen_random_uuid(), 'Filler', 'ORG_MEMBER', sha256(gen_random_uuid()::text::bytea), '{"type":"server"}', ${expiresAt}
  from generate_series(1, ${count}::int)`;

describe("POST /organizations/{organizationId}/api-tokens", () => {
  test("403 for an ORG_MEMBER and without headers", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", API_TOKENS, { body: RIGHT })).status).toBe(403);
    expect((await call("POST", `/organizations/${organization.id}${API_TOKENS}`, { body: RIGHT })).status).toBe(403);
  });

  test.each([
    [{}, "body.name is required."],
    [{ name: "A" }, "body.role is required."],
    [{ ...RIGHT, name: " " }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ ...RIGHT, role: "OWNER" }, "body.role must be one of ORG_ADMIN, ORG_MEMBER."],
    [{ ...RIGHT, expiresAt: "tomorrow" }, "body.expiresAt must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z."],
    [{ ...RIGHT, expiresAt: null }, "body.expiresAt must be a date and time in ISO 8601, such as 2030-01-31T12:00:00Z."],
    [{ ...RIGHT, expiresAt: ahead(-1) }, "body.expiresAt must be in the future."],
    [{ ...RIGHT, token: "mine" }, "body.token is not a known field."],
  ])("400 for %j", async (body, message) => {
    expect(await create(await newOrganization(), body)).toMatchObject({ status: 400, body: { message } });
  });

  test("201 a token of 256 bits, shown this once: in no list, no event and no table", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    const expiresAt = ahead(3_600);
    const answer = await create(organization, { name: " Pipeline ", role: "ORG_ADMIN", expiresAt }, admin.token);
    const { id, token, ...shown } = answer.body;
    const createdBy = { type: "user", id: admin.id, role: "ORG_ADMIN" };
    expect(answer.status).toBe(201);
    expect(shown).toMatchObject({ organizationId: organization.id, name: "Pipeline", role: "ORG_ADMIN", expiresAt, lastUsedAt: null, createdBy, version: 1 });
    expect(token).toMatch(/^cat_[\w-]{43}$/);
    const location = `/organizations/${organization.id}${API_TOKENS}/${id}`;
    expect(["etag", "location", "cache-control"].map((name) => answer.headers.get(name))).toEqual(['"1"', location, "no-store"]);
    const [event] = await eventsOf(organization, "api-token.created");
    expect(event).toMatchObject({ targetType: "api-token", targetId: id, actor: createdBy, details: { name: "Pipeline", role: "ORG_ADMIN", expiresAt } });
    const [row] = await world.sql`select row_to_json(t)::text as text from api_tokens t where id = ${id}`;
    const read = await organization.admin("GET", `${API_TOKENS}/${id}`);
    for (const text of [row?.text, JSON.stringify(event), read.text, (await organization.admin("GET", API_TOKENS)).text])
      expect(text).not.toContain(token.slice("cat_".length));
  });

  test("409 for the one after a hundred live ones, also for two that ask at once; revoked and expired ones make room", async () => {
    const organization = await newOrganization();
    await fill(organization, 98);
    await fill(organization, 5, ahead(-60));
    const answers = await Promise.all(Array.from({ length: 6 }, () => create(organization)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([201, 201, 409, 409, 409, 409]);
    expect(answers.find((each) => each.status === 409)?.body).toEqual({});
    expect(await eventsOf(organization, "api-token.created")).toHaveLength(2);
    await organization.admin("DELETE", `${API_TOKENS}/${answers.find((each) => each.status === 201)?.body.id}`);
    expect((await create(organization, ANOTHER)).status).toBe(201);
    expect((await create(organization, ANOTHER)).status).toBe(409);
  });

  test("403 for a token that expires and asks for one that lives longer, 201 for one that does not", async () => {
    const organization = await newOrganization();
    const expiresAt = ahead(3_600);
    const { id, token } = await newApiToken(organization, { expiresAt });
    const message = "An API token that expires may not make one that lives longer: send an earlier expiresAt.";
    expect(await create(organization, RIGHT, token)).toMatchObject({ status: 403, body: { message } });
    expect(await create(organization, { ...RIGHT, expiresAt: ahead(3_700) }, token)).toMatchObject({ status: 403, body: { message } });
    const createdBy = { type: "api-token", id, role: "ORG_ADMIN" };
    expect(await create(organization, { ...RIGHT, expiresAt }, token)).toMatchObject({ status: 201, body: { expiresAt, createdBy } });
    expect((await create(organization, RIGHT, (await newApiToken(organization)).token)).status).toBe(201);
  });
});

describe("GET /organizations/{organizationId}/api-tokens", () => {
  test("403 for an ORG_MEMBER, also for one alone", async () => {
    const organization = await newOrganization();
    const { id } = await newApiToken(organization);
    expect((await organization.member("GET", API_TOKENS)).status).toBe(403);
    expect((await organization.member("GET", `${API_TOKENS}/${id}`)).status).toBe(403);
  });

  test.each(["?limit=0", "?limit=101", "?cursor=x"])("400 for %s", async (query) => {
    expect((await (await newOrganization()).admin("GET", `${API_TOKENS}${query}`)).status).toBe(400);
  });

  test("404 for one of another organization, and for what is no id", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const { id } = await newApiToken(other);
    for (const each of [id, "nonsense", "%f0%9f"]) expect((await organization.admin("GET", `${API_TOKENS}/${each}`)).status).toBe(404);
  });

  test("200 those of this organization, newest first, page by page, and each by its id", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    await newApiToken(other);
    const ids: string[] = [];
    for (let index = 0; index < 3; index++) ids.unshift((await newApiToken(organization)).id);
    const first = (await organization.admin("GET", `${API_TOKENS}?limit=2`)).body;
    const second = (await organization.admin("GET", `${API_TOKENS}?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...second.items].map((each: { id: string }) => each.id)).toEqual(ids);
    expect(second.nextCursor).toBeNull();
    const one = await organization.admin("GET", `${API_TOKENS}/${ids[2]}`);
    expect([one.headers.get("etag"), one.body]).toEqual([readTag(1), second.items[0]]);
  });
});

describe("DELETE /organizations/{organizationId}/api-tokens/{apiTokenId}", () => {
  test("403 for an ORG_MEMBER, 404 for another organization's, 412 for a stale If-Match", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const path = `${API_TOKENS}/${(await newApiToken(organization)).id}`;
    expect((await organization.member("DELETE", path)).status).toBe(403);
    expect((await other.admin("DELETE", path)).status).toBe(404);
    expect(await organization.admin("DELETE", path, { headers: { "if-match": '"2"' } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).status).toBe(200);
  });

  test("204 once of ten at once, also for the token that revokes itself", async () => {
    const organization = await newOrganization();
    const { id, token } = await newApiToken(organization);
    const revoke = () => organization.admin("DELETE", `${API_TOKENS}/${id}`, { headers: { "if-match": '"1"' } });
    const answers = await Promise.all(Array.from({ length: 10 }, revoke));
    expect(answers.map((each) => each.status).toSorted()).toEqual([204, ...Array(9).fill(404)]);
    expect(await eventsOf(organization, "api-token.revoked")).toMatchObject([{ targetId: id, details: { name: "Pipeline", role: "ORG_ADMIN" } }]);
    const own = await newApiToken(organization);
    expect((await organization.admin("DELETE", `${API_TOKENS}/${own.id}`, { token: own.token })).status).toBe(204);
    expect((await create(organization, RIGHT, token)).status).toBe(401);
  });
});
