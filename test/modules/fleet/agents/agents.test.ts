import { describe, expect, test } from "bun:test";
import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

describe("GET /organizations/{organizationId}/agents", () => {
  test.each([
    ["limit=0", "query.limit must be a whole number from 1 to 100."],
    ["cursor=x", "query.cursor must be the nextCursor of an earlier answer."],
    ["selector=", "query.selector must be text of 1 to 2000 characters, without NUL."],
    ["selector=env%3D", "query.selector cannot be read: it ends where a value should be. A selector looks like env=prod,tier!=edge,zone in (a,b),has,!absent."],
  ])("400 for %s", async (query, message) => {
    expect(await (await newOrganization()).member("GET", `/agents?${query}`)).toMatchObject({ status: 400, body: { message } });
  });

  test("200 pages through this organization's own, the oldest first", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    await newAgent(other);
    const ids = [];
    for (let count = 0; count < 5; count++) ids.push((await newAgent(organization)).id);
    const first = (await organization.member("GET", "/agents?limit=3")).body;
    const rest = (await organization.member("GET", `/agents?limit=3&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...rest.items].map((each: { id: string }) => each.id)).toEqual(ids);
    expect([rest.nextCursor, JSON.stringify(first).includes("token")]).toEqual([null, false]);
  });

  test("200 finds agents by their labels as Kubernetes would", async () => {
    const organization = await newOrganization();
    const fleet: Record<string, Record<string, string>> = {
      a: { env: "prod", tier: "edge", zone: "z1" },
      b: { env: "prod", tier: "core", zone: "z2", gpu: "yes" },
      c: { env: "test", zone: "z3", quote: 'x"y' },
      d: {},
    };
    for (const [name, labels] of Object.entries(fleet)) await newAgent(organization, { name, labels });
    const find = async (selector: string) => {
      const { body } = await organization.member("GET", `/agents?selector=${encodeURIComponent(selector)}`);
      return body.items.map((each: { name: string }) => each.name).join("");
    };
    const wanted = {
      "env=prod": "ab",
      "env==prod": "ab",
      "env!=prod": "cd",
      "tier!=edge": "bcd",
      "env=prod,tier!=edge": "b",
      "zone in (z1,z3)": "ac",
      "zone notin (z1,z3)": "bd",
      gpu: "b",
      "!gpu": "acd",
      "!env": "d",
      "env,!gpu,zone in (z1,z2,z3)": "ac",
      "env=PROD": "",
      'quote=x"y': "c",
      "nothing in (x)": "",
      "nothing notin (x)": "abcd",
    };
    for (const [selector, names] of Object.entries(wanted)) expect([selector, await find(selector)]).toEqual([selector, names]);
  });
});

const withAgent = async () => {
  const organization = await newOrganization();
  return { organization, ...(await newAgent(organization, { labels: { env: "prod" } })) };
};

describe("GET /organizations/{organizationId}/agents/{agentId}", () => {
  test("400 for what is no UUID, 404 for another organization's", async () => {
    const [mine, other] = [await newOrganization(), await withAgent()];
    expect((await mine.member("GET", "/agents/x")).status).toBe(400);
    expect((await mine.member("GET", other.path)).status).toBe(404);
  });

  test("200 with its ETag", async () => {
    const { organization, id, path } = await withAgent();
    const answer = await organization.member("GET", path);
    expect(answer).toMatchObject({ status: 200, body: { id, name: "web-01", labels: { env: "prod" } } });
    expect(answer.headers.get("etag")).toEqual(readTag(1));
  });
});

describe("PATCH /organizations/{organizationId}/agents/{agentId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withAgent();
    expect((await organization.member("PATCH", path, { body: { name: "x" } })).status).toBe(403);
  });

  test.each([{}, { name: "" }, { name: null }, { name: "x".repeat(121) }, { name: "a", labels: {} }])("400 for %j", async (body) => {
    const { organization, path } = await withAgent();
    expect((await organization.admin("PATCH", path, { body })).status).toBe(400);
  });

  test("404 for another organization's", async () => {
    const { path } = await withAgent();
    expect((await (await newOrganization()).admin("PATCH", path, { body: { name: "x" } })).status).toBe(404);
  });

  test("412 for a stale If-Match", async () => {
    const { organization, path } = await withAgent();
    const headers = { "if-match": '"7"' };
    expect(await organization.admin("PATCH", path, { body: { name: "x" }, headers })).toMatchObject({ status: 412, body: {} });
  });

  test("200 renames it; the name it has already changes nothing", async () => {
    const { organization, id, path } = await withAgent();
    for (const tag of ['"1"', '"2"']) {
      const answer = await organization.admin("PATCH", path, { body: { name: "web-02" }, headers: { "if-match": tag } });
      expect(answer).toMatchObject({ status: 200, body: { name: "web-02", version: 2 } });
      expect(answer.headers.get("etag")).toBe('"2"');
    }
    const [event, before] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "agent.renamed", targetId: id, details: { from: "web-01", to: "web-02" } });
    expect(before.action).toBe("agent.created");
  });

  test("200 for one of twenty at once", async () => {
    const { organization, path } = await withAgent();
    const rename = (name: string) => organization.admin("PATCH", path, { body: { name }, headers: { "if-match": '"1"' } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => rename(`web-${index}`)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array.from({ length: 19 }, () => 412)]);
  });
});

describe("DELETE /organizations/{organizationId}/agents/{agentId}", () => {
  test("403 for an ORG_MEMBER, 404 for another organization's, 412 for a stale If-Match", async () => {
    const { organization, path } = await withAgent();
    expect((await organization.member("DELETE", path)).status).toBe(403);
    expect((await (await newOrganization()).admin("DELETE", path)).status).toBe(404);
    expect(await organization.admin("DELETE", path, { headers: { "if-match": '"7"' } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.member("GET", path)).status).toBe(200);
  });

  test("204 with its assignments; its token is worth nothing from then on", async () => {
    const { organization, id, token, path, assignments } = await withAgent();
    await organization.admin("POST", assignments, { body: anAssignment(await importRoot(organization)) });
    expect((await call("GET", "/agent/assignments", { token })).status).toBe(200);
    expect(await organization.admin("DELETE", path)).toMatchObject({ status: 204, body: "" });
    expect((await organization.admin("DELETE", path)).status).toBe(404);
    expect(await call("GET", "/agent/assignments", { token })).toMatchObject({ status: 401, body: "" });
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "agent.deleted", targetId: id, details: { name: "web-01" } });
  });
});
