import { describe, expect, test } from "bun:test";
import { call } from "../../../support/server/call";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { batch, newKey, pathOf } from "../ai-systems/senders";

const KEYS = "/ai-governance/ingest/keys";
const create = (organization: TestOrganization, body: unknown) => organization.admin("POST", KEYS, { body });
const eventsOf = async (organization: TestOrganization, action: string) =>
  (await organization.admin("GET", "/audit-events?limit=100")).body.items.filter((each: { action: string }) => each.action === action);

describe("POST /organizations/{organizationId}/ai-governance/ingest/keys", () => {
  test("403 for an ORG_MEMBER and without headers", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", KEYS, { body: { name: "A" } })).status).toBe(403);
    expect((await call("POST", `/organizations/${organization.id}${KEYS}`, { body: { name: "A" } })).status).toBe(403);
  });

  test.each([
    [{}, "body.name is required."],
    [{ name: "  " }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ name: "x".repeat(201) }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ name: 5 }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ name: "A", key: "mine" }, "body.key is not a known field."],
  ])("400 for %j", async (body, message) => {
    expect(await create(await newOrganization(), body)).toMatchObject({ status: 400, body: { message } });
  });

  test("201 a key of 256 bits that stands in no list, no log and no table", async () => {
    const organization = await newOrganization();
    const answer = await create(organization, { name: " Collectors " });
    const { id, key } = answer.body;
    expect(answer).toMatchObject({ status: 201, body: { name: "Collectors", createdAt: expect.any(String) } });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(key).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const [event] = await eventsOf(organization, "ingest-key.created");
    expect(event).toMatchObject({ targetType: "ingest-key", targetId: id, details: { name: "Collectors" }, requestId: answer.headers.get("x-request-id") });
    const [row] = await world.sql`select row_to_json(k)::text as text, encode(sealed_key, 'escape') as sealed from ingest_keys k where id = ${id}`;
    const secret = key.slice("whsec_".length);
    for (const text of [row?.text, row?.sealed, JSON.stringify(event), (await organization.admin("GET", KEYS)).text]) expect(text).not.toContain(secret);
  });

  test("409 for the eleventh live key, however many ask at once; one that was deleted makes room", async () => {
    const organization = await newOrganization();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => create(organization, { name: `${index}` })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([...Array(10).fill(201), ...Array(10).fill(409)]);
    expect(answers.find((each) => each.status === 409)?.body).toEqual({});
    expect(await eventsOf(organization, "ingest-key.created")).toHaveLength(10);
    await organization.admin("DELETE", `${KEYS}/${answers.find((each) => each.status === 201)?.body.id}`);
    expect((await create(organization, { name: "One more" })).status).toBe(201);
  });
});

describe("GET /organizations/{organizationId}/ai-governance/ingest/keys", () => {
  test.each(["?limit=0", "?limit=101", "?cursor=x"])("400 for %s", async (query) => {
    expect((await (await newOrganization()).member("GET", `${KEYS}${query}`)).status).toBe(400);
  });

  test("200 the live keys of this organization alone, newest first, page by page", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    await newKey(other);
    const keys = [];
    for (const name of ["one", "two", "three", "four"]) keys.push(await newKey(organization, name));
    await organization.admin("DELETE", `${KEYS}/${keys[2]?.id}`);
    const first = (await organization.member("GET", `${KEYS}?limit=2`)).body;
    expect(first.items).toEqual([keys[3], keys[1]].map((each) => ({ id: each?.id, name: each?.name, createdAt: expect.any(String) })));
    const second = (await organization.member("GET", `${KEYS}?limit=2&cursor=${first.nextCursor}`)).body;
    expect(second).toMatchObject({ items: [{ name: "one" }], nextCursor: null });
  });
});

describe("DELETE /organizations/{organizationId}/ai-governance/ingest/keys/{keyId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const organization = await newOrganization();
    const { id } = await newKey(organization);
    expect((await organization.member("DELETE", `${KEYS}/${id}`)).status).toBe(403);
  });

  test("404 for another organization's key, an unknown one and what is no id", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const { id, key } = await newKey(organization);
    for (const target of [id, crypto.randomUUID(), "x"]) expect((await other.admin("DELETE", `${KEYS}/${target}`)).status).toBe(404);
    expect((await call("POST", pathOf(organization), { body: batch(), token: key })).status).toBe(202);
  });

  test("204 once, and 404 for the others of twenty at once; the key is refused from then on", async () => {
    const organization = await newOrganization();
    const { id, key } = await newKey(organization);
    const answers = await Promise.all(Array.from({ length: 20 }, () => organization.admin("DELETE", `${KEYS}/${id}`)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([204, ...Array(19).fill(404)]);
    expect(await call("POST", pathOf(organization), { body: batch(), token: key })).toMatchObject({ status: 401, body: "" });
    expect(await eventsOf(organization, "ingest-key.revoked")).toMatchObject([{ targetId: id, details: { name: "Collectors" } }]);
  });
});
