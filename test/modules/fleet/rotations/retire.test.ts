import { beforeEach, describe, expect, test } from "bun:test";
import { deactivateOtherRollouts, desired, newFleet, report, runRolloutJob, runRolloutJobAt, type TestAgent } from "../../../support/server/fleet";
import { startServer, world } from "../../../support/server/world";

beforeEach(deactivateOtherRollouts);

async function withOverlap(agentCount = 1, rest: object = {}) {
  const fleet = await newFleet(...Array.from({ length: agentCount }, () => ({})));
  const [root = "", next = ""] = await fleet.importRoots("Old Root", "New Root");
  for (const agent of fleet.agents) await fleet.assign(agent, root);
  const path = `/certificates/${root}/successor`;
  const { status, body } = await fleet.organization.admin("POST", path, { body: { certificateId: next, ...rest } });
  if (status !== 201) throw new Error(`the rotation was answered ${status}: ${JSON.stringify(body)}`);
  const read = async () => (await fleet.organization.member("GET", path)).body;
  const update = (body: object, tag?: string) => fleet.organization.admin("PATCH", path, { body, ...(tag && { headers: { "if-match": tag } }) });
  const statusOfOld = async () => (await fleet.organization.member("GET", `/certificates/${root}`)).body.status;
  return { ...fleet, agents: fleet.agents as readonly TestAgent[], root, next, path, id: body.id, read, update, statusOfOld };
}

const MINUTE = { retire: { share: 1, holdSeconds: 60 } };
const bound = async (agent: TestAgent) => (await desired(agent)).map((each) => each.certificateId);

describe("PATCH /organizations/{organizationId}/certificates/{certificateId}/successor", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withOverlap();
    expect((await organization.member("PATCH", path, { body: MINUTE })).status).toBe(403);
  });

  test.each([{}, { retire: {} }, { retire: { share: 2, holdSeconds: 0 } }, { retire: { share: 1, holdSeconds: "60" } }, { certificateId: "x" }])(
    "400 for %j",
    async (body) => {
      expect((await (await withOverlap()).update(body)).status).toBe(400);
    },
  );

  test("404 without a rotation, and for another organization's", async () => {
    const [{ organization, next }, other] = [await withOverlap(), await withOverlap()];
    for (const path of [`/certificates/${next}/successor`, other.path]) expect((await organization.admin("PATCH", path, { body: MINUTE })).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const { update, read } = await withOverlap();
    expect(await update(MINUTE, '"2"')).toMatchObject({ status: 412, body: {} });
    expect(await read()).toMatchObject({ retire: null, version: 1 });
  });

  test("409 once the certificate is retired, or the rotation cancelled", async () => {
    const [retired, cancelled] = [await withOverlap(), await withOverlap()];
    await retired.organization.admin("DELETE", `/certificates/${retired.root}`);
    await cancelled.organization.admin("DELETE", cancelled.path);
    for (const { update } of [retired, cancelled]) expect(await update(MINUTE)).toMatchObject({ status: 409, body: {} });
  });

  test("200 says when the server retires the certificate; the same again changes nothing, null takes it back", async () => {
    const { update, read, events } = await withOverlap();
    expect(await update(MINUTE, '"1"')).toMatchObject({ status: 200, body: { ...MINUTE, version: 2 } });
    expect(await update(MINUTE, '"2"')).toMatchObject({ status: 200, body: { version: 2 } });
    expect(await events("rollout.retirement-changed")).toMatchObject([{ details: MINUTE }]);
    expect((await update({ retire: null })).headers.get("etag")).toBe('"3"');
    expect(await read()).toMatchObject({ retire: null, version: 3 });
  });

  test("200 with another time keeps since when the share is reached; another share begins again", async () => {
    const { agents, update, read } = await withOverlap(1, MINUTE);
    await report("installed", ...agents);
    await runRolloutJob();
    const { reachedAt } = await read();
    expect(reachedAt).not.toBeNull();
    expect((await update({ retire: { share: 1, holdSeconds: 999 } })).body).toMatchObject({ reachedAt });
    expect((await update({ retire: { share: 0.5, holdSeconds: 999 } })).body).toMatchObject({ reachedAt: null });
    await runRolloutJob();
    expect((await read()).reachedAt > reachedAt).toBe(true);
  });
});

describe("the end of an overlap", () => {
  test("comes by itself when the share is reached and has held: the agents have the successor alone", async () => {
    const { agents, root, next, id, read, statusOfOld, events } = await withOverlap(2, { retire: { share: 1, holdSeconds: 3_600 } });
    const [first, second] = agents as [TestAgent, TestAgent];
    await report("installed", first);
    await runRolloutJob();
    expect(await read()).toMatchObject({ observed: 1, reachedAt: null });
    await report("installed", second);
    const before = Date.now();
    await runRolloutJob();
    const { reachedAt } = await read();
    const reached = Date.parse(reachedAt);
    expect(reached).toBeWithin(before, Date.now() + 1);
    await runRolloutJobAt(reached + 3_599_999);
    expect([await statusOfOld(), await bound(first)]).toEqual(["active", [root, next]]);
    await runRolloutJobAt(reached + 3_600_000);
    expect(await read()).toMatchObject({ status: "retired", reachedAt, retiredAt: expect.any(String), total: 2, observed: 2 });
    expect(await statusOfOld()).toBe("retired");
    for (const agent of agents) expect(await bound(agent)).toEqual([next]);
    const server = { actor: { type: "server" }, requestId: null };
    for (const action of ["rollout.share-reached", "certificate.retired", "rollout.completed"]) expect(await events(action)).toMatchObject([server]);
    expect((await events("rollout.completed"))[0].targetId).toBe(id);
  });

  test("begins again when the share is lost: by an agent that took it out, or by one that came", async () => {
    const { organization, agents, root, assign, read, statusOfOld, events } = await withOverlap(2, MINUTE);
    const [first] = agents as [TestAgent];
    await report("installed", ...agents);
    await runRolloutJob();
    await report("removed", first);
    await runRolloutJob(3_600);
    expect([(await read()).reachedAt, await statusOfOld()]).toEqual([null, "active"]);
    await report("drifted", first);
    await runRolloutJob(3_700);
    const { reachedAt } = await read();
    expect(reachedAt).not.toBeNull();
    await assign(first, root, { config: { alias: "late" } });
    await runRolloutJob(3_800);
    expect([(await read()).reachedAt, await statusOfOld()]).toEqual([null, "active"]);
    await report("installed", first);
    await runRolloutJob(3_900);
    await runRolloutJob(3_961);
    expect(await statusOfOld()).toBe("retired");
    expect(await events("rollout.share-lost")).toHaveLength(2);
    expect((await organization.member("GET", `/rollouts?limit=1`)).body.items).toMatchObject([{ status: "completed" }]);
  });

  test("does not come where nobody has the certificate, nor while a ring waits, nor while it is halted", async () => {
    const none = await withOverlap(0, { retire: { share: 0.5, holdSeconds: 0 } });
    const waiting = await withOverlap(4, { retire: { share: 0.5, holdSeconds: 0 }, rings: [{ share: 0.75 }] });
    const halted = await withOverlap(1, { retire: { share: 1, holdSeconds: 0 } });
    await report("installed", ...waiting.agents.slice(0, 2), ...halted.agents);
    await halted.organization.admin("POST", `/rollouts/${halted.id}/halt`);
    for (const seconds of [0, 60]) await runRolloutJob(seconds);
    for (const { statusOfOld } of [none, waiting, halted]) expect(await statusOfOld()).toBe("active");
    await report("installed", ...waiting.agents);
    for (const seconds of [120, 180]) await runRolloutJob(seconds);
    expect(await waiting.statusOfOld()).toBe("retired");
    expect(await waiting.read()).toMatchObject({ status: "retired", total: 4, observed: 3 });
  });

  test("comes when asked: the rotation is retired at once, and goes on to whom it has not reached", async () => {
    const { organization, agents, root, next, read, id } = await withOverlap(4, { rings: [{ share: 0.25 }] });
    expect((await organization.admin("DELETE", `/certificates/${root}`)).status).toBe(204);
    expect(await read()).toMatchObject({ status: "retired", retiredAt: expect.any(String), total: 4 });
    await report("installed", ...agents);
    await runRolloutJob();
    for (const agent of agents) expect(await bound(agent)).toEqual([next]);
    await report("installed", ...agents);
    await runRolloutJob();
    expect((await organization.member("GET", `/rollouts/${id}`)).body.status).toBe("completed");
  });

  test("comes with a revocation too", async () => {
    const { organization, root, read } = await withOverlap();
    await organization.admin("POST", `/certificates/${root}/revoke`, { body: {} });
    expect(await read()).toMatchObject({ status: "retired", retiredAt: expect.any(String) });
  });

  test("comes once, however many servers work at the same time", async () => {
    const { agents, statusOfOld, events } = await withOverlap(3, { retire: { share: 1, holdSeconds: 0 } });
    const { deps, server } = startServer(world.config, world.database);
    await report("installed", ...agents);
    await Promise.all([runRolloutJob(), runRolloutJob(0, deps), runRolloutJob(), runRolloutJob(0, deps)]);
    await server.stop(true);
    expect(await statusOfOld()).toBe("retired");
    for (const action of ["rollout.share-reached", "certificate.retired", "rollout.completed"]) expect(await events(action)).toHaveLength(1);
  });
});
