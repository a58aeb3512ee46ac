import { beforeAll, describe, expect, test } from "bun:test";
import { isWriting, nameOf, type Operation, operations } from "../support/openapi/document";
import { call } from "../support/server/call";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { rowsOf } from "../support/server/rows";
import { world } from "../support/server/world";
import { NEEDS } from "./needs";

withQueue();

const isOpenTo = ({ security }: Operation) => security.some((each) => each.includes("apiToken"));
const byName = (list: Operation[]) => list.map((operation) => [nameOf(operation), operation] as const);
const within = operations.filter((each) => /^(\/portal)?\/organizations\/\{/.test(each.path) && each.id !== "ingestMetrics" && each.security.length > 0);
const closed = operations.filter((each) => !isOpenTo(each) && each.security.length > 0);

/** What a person has to decide: a token answers for nobody. */
const DECISIONS = ["approveCertificateRequest", "refuseCertificateRequest", "approveIssuancePolicy", "refuseIssuancePolicy"];
const [decisions = [], writes = []] = [true, false].map((isDecision) => within.filter((each) => isWriting(each) && DECISIONS.includes(each.id) === isDecision));

const bearer = ({ keys }: PopulatedOrganization) => ({ authorization: `Bearer ${keys.apiToken}` });

/** The path with every query that it cannot do without. */
const pathOf = (everything: PopulatedOrganization, operation: Operation) => {
  const required = operation.parameters.filter((each) => each.in === "query" && each.required);
  return `${everything.pathOf(operation)}?${required.map((each) => `${each.name}=${everything.ids[each.name] ?? "keys"}`).join("&")}`;
};

/** Shared by the tests that change nothing in it. */
let unchanged: PopulatedOrganization;
beforeAll(async () => {
  unchanged = await populatedOrganization();
});

test("every operation of an organization is open to its API tokens, and no other", () => {
  expect(operations.filter(isOpenTo).map(nameOf)).toEqual(within.map(nameOf));
});

describe.each(byName(decisions))("%s", (_, operation) => {
  test("403 for an API token, and nothing changes", async () => {
    const everything = await populatedOrganization();
    const wish = (await NEEDS[operation.id]?.(everything)) ?? {};
    const requests = () => world.sql`select * from certificate_requests where organization_id = ${everything.organization.id}`;
    const before = [...(await requests())];
    expect((await everything.send(operation, { ...wish, headers: { ...wish.headers, ...bearer(everything) } })).status).toBe(403);
    expect([...(await requests())]).toEqual(before);
    expect(before).not.toEqual([]);
  });
});

describe.each(byName(writes))("%s", (_, operation) => {
  test("is done for an API token, which the audit trail names", async () => {
    const everything = await populatedOrganization();
    const { organization, ids } = everything;
    const { headers, ...wish } = (await NEEDS[operation.id]?.(everything)) ?? {};
    const requestId = crypto.randomUUID();
    const { status, text } = await everything.send(operation, { ...wish, headers: { ...headers, ...bearer(everything), "x-request-id": requestId } });
    expect({ text, isDone: status < 300 }).toEqual({ text, isDone: true });
    const actors = await world.sql`select distinct actor from audit_events where organization_id = ${organization.id} and request_id = ${requestId}`;
    expect([...actors]).toEqual([{ actor: { type: "api-token", id: ids.apiTokenId, role: "ORG_ADMIN" } }]);
  });
});

describe.each(byName(within.filter((each) => !isWriting(each))))("%s", (_, operation) => {
  test("200 for an API token, the same as for a user", async () => {
    const ask = async (who: object) =>
      call("GET", pathOf(unchanged, operation), { headers: { ...unchanged.credentials(operation, true), ...(who as Record<string, string>) } });
    expect((await ask(bearer(unchanged))).status).toBe(200);
    expect((await ask({})).status).toBe(200);
  });
});

describe.each(byName(closed))("%s", (_, operation) => {
  test("401 for an API token, and nothing changes", async () => {
    const before = await rowsOf(unchanged.organization.id);
    const headers = { ...unchanged.credentials(operation, true), ...unchanged.organization.headers("ORG_ADMIN"), ...bearer(unchanged) };
    expect((await call(operation.method, unchanged.pathOf(operation), { headers })).status).toBe(401);
    expect(await rowsOf(unchanged.organization.id)).toEqual(before);
  });
});
