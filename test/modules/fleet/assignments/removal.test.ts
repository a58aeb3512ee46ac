import { describe, expect, test } from "bun:test";
import { withAssignment } from "../../../support/server/agents";
import { desired, obey, report } from "../../../support/server/fleet";

/** An assignment that its agent has installed. */
async function withInstalled() {
  const assignment = await withAssignment();
  const { organization, agent, path } = assignment;
  await report("installed", agent);
  const remove = (query = "", headers = {}) => organization.admin("DELETE", `${path}${query}`, { headers });
  const list = async () => (await organization.member("GET", agent.assignments)).body.items;
  const askedFor = async () => (await agent.call("GET", "/agent/assignments")).body.remove;
  return { ...assignment, remove, list, askedFor };
}

describe("DELETE /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  test.each([
    ["?force=true", "query.force needs query.reason"],
    ["?reason=scrapped", "query.force needs query.reason"],
    ["?force=true&reason=", "query.reason must be text of 1 to 500 characters"],
    ["?force=perhaps&reason=scrapped", "query.force must be"],
  ])("400 for %s, and nothing changes", async (query, message) => {
    const { remove, list, created } = await withInstalled();
    const answer = await remove(query);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)]);
    expect(await list()).toEqual([{ ...created, removingSince: null, heldSince: null }]);
  });

  test("202 and removing, until its agent says removed: listed, asked for, and audited; then 404", async () => {
    const { remove, list, askedFor, created, agent, organization, path, events } = await withInstalled();
    const answer = await remove();
    const removing = { ...created, enabled: false, version: 2, etag: '"2"', updatedAt: expect.any(String), removingSince: expect.any(String), heldSince: null };
    expect([answer.status, answer.body, answer.headers.get("etag")]).toEqual([202, removing, '"2"']);
    expect(await list()).toEqual([answer.body]);
    expect(await desired(agent)).toEqual([]);
    expect(await askedFor()).toMatchObject([{ id: created.id, trustStoreType: created.trustStoreType, privateKeyPem: null }]);
    expect(await events("assignment.removing")).toMatchObject([{ targetId: created.id, details: { agentId: agent.id } }]);

    for (const state of ["failed", "kept"] as const) {
      await obey(state, agent);
      expect((await organization.member("GET", path)).body).toMatchObject({ report: { state, message: `It is ${state}.` }, removingSince: expect.any(String) });
    }
    expect(await events("assignment.deleted")).toEqual([]);
    await obey("removed", agent);
    expect((await organization.member("GET", path)).status).toBe(404);
    expect(await askedFor()).toEqual([]);
    expect(await events("assignment.deleted")).toMatchObject([{ targetId: created.id, actor: { type: "agent", id: agent.id } }]);
    expect((await remove()).status).toBe(404);
  });

  test("202 again while it is removing, and one audit event; 409 for a change of it", async () => {
    const { remove, update, events } = await withInstalled();
    const answers = await Promise.all(Array.from({ length: 10 }, () => remove()));
    expect(new Set(answers.map(({ status, body }) => `${status} ${body.version}`))).toEqual(new Set(["202 2"]));
    expect(await events("assignment.removing")).toHaveLength(1);
    expect(await update({ enabled: true })).toMatchObject({ status: 409, body: {} });
    expect((await remove("", { "if-match": '"1"' })).status).toBe(412);
  });

  test("204 with force and a reason, which the audit trail keeps", async () => {
    const { remove, list, events, created } = await withInstalled();
    await remove();
    expect((await remove("?force=true&reason=The%20host%20was%20scrapped.")).status).toBe(204);
    expect(await list()).toEqual([]);
    expect(await events("assignment.deleted")).toMatchObject([{ targetId: created.id, details: { reason: "The host was scrapped." } }]);
  });

  test("204 at once where nothing is on the host: its agent never asked, or has removed it already", async () => {
    const never = await withAssignment();
    expect((await never.organization.admin("DELETE", never.path)).status).toBe(204);
    const { update, agent, created, remove } = await withInstalled();
    await update({ enabled: false });
    await agent.call("POST", "/agent/reports", { body: { reports: [{ assignmentId: created.id, state: "removed" }] } });
    expect((await remove()).status).toBe(204);
  });

  test("202 leaves the place free for another assignment, which is desired beside it", async () => {
    const { remove, create, agent, askedFor, created } = await withInstalled();
    await remove();
    const next = await create({ config: { alias: "root" } });
    expect((await desired(agent)).map(({ id }) => id)).toEqual([next.id]);
    expect((await askedFor()).map(({ id }: { id: string }) => id)).toEqual([created.id]);
  });

  test("202 holds up nothing when its agent is deleted", async () => {
    const { remove, organization, agent } = await withInstalled();
    await remove();
    expect((await organization.admin("DELETE", agent.path)).status).toBe(204);
  });
});
