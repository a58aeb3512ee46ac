import { describe, expect, test } from "bun:test";
import { newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";
import { prepare, sendWithKey } from "../../../support/server/prepare";
import { world } from "../../../support/server/world";

const PATH = "/fleet-operations/bulk-label-update";
const ONE = { agentIds: ["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"] };
const KEY = "but a key is 1 to 63 lower-case letters, digits and hyphens, and begins and ends with a letter or digit.";
const labelsOf = (count: number, prefix = "k") => Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, "v"]));

/** Agents with these labels, one each. */
const withFleet = async (...labels: Record<string, string>[]) => {
  const organization = await newOrganization();
  const agents = [];
  for (const each of labels) agents.push(await newAgent(organization, { labels: each }));
  const ids = agents.map((each) => each.id);
  const update = (body: object) => organization.admin("POST", PATH, { body });
  const read = async () => (await organization.member("GET", "/agents?limit=100")).body.items as { labels: object; version: number }[];
  const labelsNow = async () => (await read()).map((each) => each.labels);
  return { organization, ids, update, read, labelsNow };
};

/** Many agents at once, past the HTTP interface. */
const fill = (organizationId: string, count: number) =>
  prepare(
    (sql) => sql`
  insert into agents (organization_id, id, name, labels, token_hash)
  select ${organizationId}, new_id(), 'agent ' || n, jsonb_build_object('env', case when n % 2 = 0 then 'prod' else 'test' end), sha256((${organizationId} || n::text)::bytea)
  from generate_series(1, ${count}::int) n`,
  );

describe("POST /organizations/{organizationId}/fleet-operations/bulk-label-update", () => {
  test("403 for an ORG_MEMBER", async () => {
    expect((await (await newOrganization()).member("POST", PATH, { body: {} })).status).toBe(403);
  });

  test.each([
    [{}, "The body must have either agentIds or selector."],
    [{ ...ONE, selector: { env: "prod" }, set: { a: "b" } }, "The body must have either agentIds or selector."],
    [{ ...ONE }, "The body must name at least one label in set or unset."],
    [{ ...ONE, set: {}, unset: [] }, "The body must name at least one label in set or unset."],
    [{ agentIds: [], set: { a: "b" } }, "body.agentIds must be a list of 1 to 10000 items."],
    [{ agentIds: Array.from({ length: 10_001 }, () => ONE.agentIds[0]), set: { a: "b" } }, "body.agentIds must be a list of 1 to 10000 items."],
    [{ agentIds: ["x"], set: { a: "b" } }, "body.agentIds.0 must be a UUID."],
    [{ agentIds: ONE.agentIds[0], set: { a: "b" } }, "body.agentIds must be a list of 1 to 10000 items."],
    [{ selector: {}, set: { a: "b" } }, "body.selector must have at least 1 of its fields."],
    [{ selector: "env=prod", set: { a: "b" } }, "body.selector must be an object."],
    [{ selector: { env: 1 }, set: { a: "b" } }, "body.selector.env must be text of 1 to 63 characters, without NUL."],
    [{ selector: { Env: "x" }, set: { a: "b" } }, `body.selector names the key "Env", ${KEY}`],
    [{ ...ONE, set: { a: "" } }, "body.set.a must be text of 1 to 63 characters, without NUL."],
    [{ ...ONE, set: { a: "x".repeat(64) } }, "body.set.a must be text of 1 to 63 characters, without NUL."],
    [{ ...ONE, set: { a: null } }, "body.set.a must be text of 1 to 63 characters, without NUL."],
    [{ ...ONE, set: { a_b: "x" } }, `body.set names the key "a_b", ${KEY}`],
    [{ ...ONE, set: { "a-": "x" } }, `body.set names the key "a-", ${KEY}`],
    [{ ...ONE, set: { "a\nb": 5 } }, `body.set names the key "a\\nb", ${KEY}`],
    [{ ...ONE, set: { ["k".repeat(64)]: "x" } }, `body.set names the key "${"k".repeat(64)}", ${KEY}`],
    [{ ...ONE, set: labelsOf(65) }, "body.set names 65 labels, but there may be at most 64."],
    [{ ...ONE, unset: "a" }, "body.unset must be a list of 0 to 64 items."],
    [{ ...ONE, unset: ["A"] }, `body.unset names the key "A", ${KEY}`],
    [{ ...ONE, unset: ["a\0"] }, `body.unset names the key "a\\u0000", ${KEY}`],
    [{ ...ONE, set: { a: "b" }, unset: ["a"] }, "The label a is in both body.set and body.unset."],
    [{ ...ONE, set: { a: "b" }, dryRun: "no" }, "body.dryRun must be true or false."],
    [{ ...ONE, labels: {} }, "body.labels is not a known field."],
  ])("400 for %j", async (body, message) => {
    expect(await (await newOrganization()).admin("POST", PATH, { body })).toMatchObject({ status: 400, body: { message } });
  });

  test("400 when one agent would have too many labels: it is named, and no agent changes", async () => {
    const { ids, update, labelsNow } = await withFleet({ a: "1" }, labelsOf(60));
    const before = await labelsNow();
    const message = `The agent ${ids[1]} would have more than 64 labels. No agent was changed.`;
    for (const dryRun of [false, true])
      expect(await update({ agentIds: ids, set: labelsOf(5, "new"), dryRun })).toMatchObject({ status: 400, body: { message } });
    expect(await labelsNow()).toEqual(before);
    expect(await update({ agentIds: ids, set: labelsOf(5, "new"), unset: ["k0"] })).toMatchObject({ status: 200, body: { matched: 2, updated: 2 } });
  });

  test("200 sets and takes away, names who is not here, and leaves an event per agent that changed", async () => {
    const { organization, ids, update, read } = await withFleet({ env: "test", old: "x" }, { env: "prod" }, { env: "prod", tier: "edge" });
    const other = await withFleet({ env: "prod" });
    const stranger = crypto.randomUUID();
    const agentIds = [ids[0], ids[1], ids[1]?.toUpperCase(), other.ids[0], stranger];
    const answer = await update({ agentIds, set: { env: " prod " }, unset: ["old"] });
    const { notFound, ...counts } = answer.body;
    expect({ status: answer.status, counts }).toEqual({ status: 200, counts: { matched: 2, updated: 1 } });
    expect(notFound.toSorted()).toEqual([other.ids[0], stranger].toSorted());
    expect(await read()).toMatchObject([
      { labels: { env: "prod" }, version: 2 },
      { labels: { env: "prod" }, version: 1 },
      { labels: { env: "prod", tier: "edge" }, version: 1 },
    ]);
    expect(await other.read()).toMatchObject([{ version: 1 }]);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    const events = items.filter((each: { action: string }) => each.action === "agent.labels-updated");
    expect(events).toMatchObject([{ targetId: ids[0], details: { set: { env: "prod" }, unset: ["old"] }, requestId: answer.headers.get("x-request-id") }]);
  });

  test("200 by selector: the agents that have all of its labels", async () => {
    const { update, labelsNow } = await withFleet({ env: "prod", tier: "edge" }, { env: "prod" }, { env: "test", tier: "edge" });
    expect((await update({ selector: { env: "prod", tier: "edge" }, set: { found: "yes" } })).body).toEqual({ matched: 1, updated: 1, notFound: [] });
    expect(await labelsNow()).toEqual([{ env: "prod", tier: "edge", found: "yes" }, { env: "prod" }, { env: "test", tier: "edge" }]);
    expect((await update({ selector: { env: "nowhere" }, set: { found: "yes" } })).body).toEqual({ matched: 0, updated: 0, notFound: [] });
  });

  test("200 changes nothing the second time, nor on a dry run", async () => {
    const { organization, ids, update, read } = await withFleet({ a: "1" });
    expect((await update({ agentIds: ids, set: { b: "2" }, dryRun: true })).body).toEqual({ matched: 1, updated: 1, notFound: [] });
    expect(await read()).toMatchObject([{ labels: { a: "1" }, version: 1 }]);
    expect((await update({ agentIds: ids, set: { b: "2" } })).body).toMatchObject({ updated: 1 });
    expect((await update({ agentIds: ids, set: { b: "2" }, unset: ["c"] })).body).toEqual({ matched: 1, updated: 0, notFound: [] });
    expect(await read()).toMatchObject([{ labels: { a: "1", b: "2" }, version: 2 }]);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items.filter((each: { action: string }) => each.action === "agent.labels-updated")).toHaveLength(1);
  });

  test("200 for twenty at once over the same agents, and every label of theirs is there", async () => {
    const organization = await newOrganization();
    await fill(organization.id, 200);
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => organization.admin("POST", PATH, { body: { selector: { env: "prod" }, set: { [`racer-${index}`]: "yes" } } })),
    );
    for (const answer of answers) expect([answer.status, answer.body]).toEqual([200, { matched: 100, updated: 100, notFound: [] }]);
    const { items } = (await organization.member("GET", "/agents?selector=env%3Dprod&limit=100")).body;
    for (const { labels, version } of items) expect([Object.keys(labels).length, version]).toEqual([21, 21]);
  });

  test("200 for ten thousand agents", async () => {
    const organization = await newOrganization();
    await fill(organization.id, 10_000);
    const rows = await world.sql<{ id: string }[]>`select id from agents where organization_id = ${organization.id}`;
    const body = { agentIds: rows.map((each) => each.id), set: { wave: "1" } };
    const answer = await sendWithKey((headers) => organization.admin("POST", PATH, { body, headers }));
    expect(answer).toMatchObject({ status: 200, body: { matched: 10_000, updated: 10_000, notFound: [] } });
  });
});
