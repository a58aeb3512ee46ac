import { describe, expect, test } from "bun:test";
import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const withAssignments = async (count = 1) => {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const certificateId = await importRoot(organization);
  const created = [];
  for (let index = 0; index < count; index++) {
    const body = anAssignment(certificateId, { config: { alias: `root-${index}` } });
    created.push((await organization.admin("POST", agent.assignments, { body })).body);
  }
  return { organization, agent, created, path: `${agent.assignments}/${created[0].id}` };
};

describe("GET /organizations/{organizationId}/agents/{agentId}/assignments", () => {
  test.each(["?limit=0", "?limit=101", "?limit=x", "?cursor=x"])("400 for %s", async (query) => {
    const { organization, agent } = await withAssignments();
    expect((await organization.member("GET", `${agent.assignments}${query}`)).status).toBe(400);
  });

  test("404 for an agent that is not here or another organization's", async () => {
    const [mine, other] = [await withAssignments(), await withAssignments()];
    for (const id of [other.agent.id, crypto.randomUUID()]) expect((await mine.organization.member("GET", `/agents/${id}/assignments`)).status).toBe(404);
  });

  test("200 pages through this agent's own, the oldest first", async () => {
    const { organization, agent, created } = await withAssignments(5);
    const second = await newAgent(organization);
    expect((await organization.member("GET", second.assignments)).body).toEqual({ items: [], nextCursor: null });
    const first = (await organization.member("GET", `${agent.assignments}?limit=3`)).body;
    const rest = (await organization.member("GET", `${agent.assignments}?limit=3&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...rest.items]).toEqual(created.map((each) => ({ ...each, removingSince: null, heldSince: null })));
    expect(rest.nextCursor).toBeNull();
  });
});

describe("GET /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  test("404 for what is not here, or another agent's or organization's", async () => {
    const [mine, other] = [await withAssignments(), await withAssignments()];
    const second = await newAgent(mine.organization);
    for (const path of [other.path, `${second.assignments}/${mine.created[0].id}`, `${mine.agent.assignments}/nonsense`])
      expect((await mine.organization.member("GET", path)).status).toBe(404);
  });

  test("200 as it was created, with its ETag, and nothing reported yet", async () => {
    const { organization, created, path } = await withAssignments();
    const answer = await organization.member("GET", path);
    expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([
      200,
      { ...created[0], removingSince: null, heldSince: null, report: null, history: [] },
      readTag(1),
    ]);
  });
});

describe("DELETE /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withAssignments();
    expect((await organization.member("DELETE", path)).status).toBe(403);
  });

  test("404 for another agent's or organization's, and the second time", async () => {
    const [mine, other] = [await withAssignments(), await withAssignments()];
    const second = await newAgent(mine.organization);
    for (const path of [other.path, `${second.assignments}/${mine.created[0].id}`, `${mine.agent.assignments}/nonsense`])
      expect((await mine.organization.admin("DELETE", path)).status).toBe(404);
    await mine.organization.admin("DELETE", mine.path);
    expect((await mine.organization.admin("DELETE", mine.path)).status).toBe(404);
  });

  test("412 for a stale If-Match", async () => {
    const { organization, path } = await withAssignments();
    expect(await organization.admin("DELETE", path, { headers: { "if-match": '"2"' } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.member("GET", path)).status).toBe(200);
  });

  test("204 for one of twenty at once, and one audit event", async () => {
    const { organization, agent, created, path } = await withAssignments(2);
    const answers = await Promise.all(Array.from({ length: 20 }, () => organization.admin("DELETE", path, { headers: { "if-match": '"1"' } })));
    const statuses = answers.map((each) => each.status).toSorted();
    expect(statuses).toEqual([204, ...Array.from({ length: 19 }, () => 404)]);
    expect((await organization.member("GET", agent.assignments)).body.items).toEqual([{ ...created[1], removingSince: null, heldSince: null }]);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    const deleted = items.filter((each: { action: string }) => each.action === "assignment.deleted");
    expect(deleted).toMatchObject([{ targetId: created[0].id, details: { agentId: agent.id } }]);
  });
});
