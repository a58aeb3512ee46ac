import { beforeEach, describe, expect, test } from "bun:test";
import { aRollout, deactivateOtherRollouts, desired, newFleet, obey, report, runRolloutJob, type TestAgent } from "../../../support/server/fleet";
import { newOrganization } from "../../../support/server/people";

beforeEach(deactivateOtherRollouts);

const CANARY = { env: "canary" };
const PROD = { env: "prod" };
const HALTS = { reason: "Halted on request." };

async function withRollout(labels: Record<string, string>[] = [CANARY, PROD], rest: object = {}) {
  const fleet = await newFleet(...labels);
  const [root = "", next = ""] = await fleet.importRoots("Example Root", "Next Root");
  const { body } = await fleet.organization.admin("POST", "/rollouts", { body: aRollout(root, {}, rest) });
  const path = `/rollouts/${body.id}`;
  const read = async () => (await fleet.organization.member("GET", path)).body;
  const send = (action: string, { body, tag }: { body?: object; tag?: string } = {}) =>
    fleet.organization.admin("POST", `${path}/${action}`, {
      ...((body ?? action === "resume") && { body: body ?? {} }),
      ...(tag !== undefined && { headers: { "if-match": tag } }),
    });
  return { ...fleet, root, next, path, read, send };
}

const ACTIONS = ["halt", "resume", "rollback"];

describe.each(ACTIONS)("POST /organizations/{organizationId}/rollouts/{rolloutId}/%s", (action) => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withRollout();
    expect((await organization.member("POST", `${path}/${action}`, { body: {} })).status).toBe(403);
  });

  test("404 for what is not here or another organization's", async () => {
    const { path } = await withRollout();
    const other = await newOrganization();
    for (const each of [path, `/rollouts/${crypto.randomUUID()}`, "/rollouts/nonsense"])
      expect((await other.admin("POST", `${each}/${action}`, { body: {} })).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const { send, read } = await withRollout();
    if (action === "resume") await send("halt");
    const before = await read();
    for (const tag of ['"9"', "1", "nonsense"]) expect(await send(action, { tag })).toMatchObject({ status: 412, body: {} });
    expect(await read()).toEqual(before);
    expect((await send(action, { tag: `"${before.version}"` })).status).toBe(200);
  });

  test("409 once it is rolled back", async () => {
    const { send } = await withRollout();
    await send("rollback");
    expect(await send(action)).toMatchObject({ status: 409, body: {} });
  });
});

describe("POST /organizations/{organizationId}/rollouts/{rolloutId}/halt", () => {
  test("409 while it is halted or completed", async () => {
    const { agents, send } = await withRollout([CANARY]);
    await send("halt");
    expect((await send("halt")).status).toBe(409);
    await send("resume");
    await report("installed", ...agents);
    await runRolloutJob();
    expect((await send("halt")).status).toBe(409);
  });

  test("200 keeps every ring as it is until it is resumed", async () => {
    const { agents, send, read, events } = await withRollout();
    const answer = await send("halt");
    expect(answer).toMatchObject({ status: 200, body: { status: "halted", ...HALTS, version: 2 } });
    expect(answer.headers.get("etag")).toBe('"2"');
    await report("installed", ...agents);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "halted", rings: [{ state: "done" }, { state: "waiting" }] });
    expect(await events("rollout.halted")).toMatchObject([{ actor: { type: "gateway" }, details: HALTS, requestId: answer.headers.get("x-request-id") }]);
  });
});

describe("POST /organizations/{organizationId}/rollouts/{rolloutId}/resume", () => {
  test.each([[{ haltShare: 0 }], [{ haltShare: "1" }], [{ share: 1 }]])("400 for %j", async (body) => {
    const { send } = await withRollout();
    expect((await send("resume", { body })).status).toBe(400);
  });

  test("409 unless it is halted", async () => {
    const { send } = await withRollout();
    expect(await send("resume")).toMatchObject({ status: 409, body: {} });
  });

  test("200 opens what is due at once", async () => {
    const { agents, send, events } = await withRollout();
    await send("halt");
    await report("installed", ...agents);
    const answer = await send("resume");
    expect(answer).toMatchObject({ status: 200, body: { status: "running", reason: null, rings: [{ state: "done" }, { state: "open" }], version: 4 } });
    expect(await desired(agents[1] as TestAgent)).toHaveLength(1);
    const requestId = answer.headers.get("x-request-id");
    for (const action of ["rollout.resumed", "rollout.ring-opened"]) expect((await events(action))[0]).toMatchObject({ requestId, actor: { type: "gateway" } });
  });

  test("200 forgives what failed before; what fails again halts again", async () => {
    const { agents, send, read } = await withRollout([CANARY, CANARY, PROD]);
    const [failing, other] = agents as [TestAgent, TestAgent];
    await report("failed", failing);
    await runRolloutJob();
    expect((await read()).status).toBe("halted");
    expect(await send("resume")).toMatchObject({ status: 200, body: { status: "running", rings: [{ failed: 0, pending: 2 }, {}] } });
    await runRolloutJob();
    expect((await read()).status).toBe("running");
    await report("failed", failing);
    await runRolloutJob();
    expect((await read()).status).toBe("halted");
    await send("resume");
    await report("installed", failing, other);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "running", rings: [{ state: "done" }, { state: "open" }] });
  });

  test("200 with another haltShare goes on in spite of as many as that", async () => {
    const { agents, send, read, events } = await withRollout([CANARY, CANARY, CANARY], { successShare: 0.5 });
    const [first, ...others] = agents as TestAgent[];
    await report("failed", first as TestAgent);
    await runRolloutJob();
    expect(await send("resume", { body: { haltShare: 0.5 } })).toMatchObject({ status: 200, body: { haltShare: 0.5 } });
    await report("failed", first as TestAgent);
    await report("installed", ...others);
    await runRolloutJob();
    expect((await read()).status).toBe("completed");
    expect(await events("rollout.resumed")).toMatchObject([{ details: { haltShare: 0.5 } }]);
  });
});

describe("POST /organizations/{organizationId}/rollouts/{rolloutId}/rollback", () => {
  test.each(["running", "halted", "completed"])("200 while it is %s: its agents take out what they installed, and nothing else", async (state) => {
    const { organization, agents, root, next, assign, send, read, events } = await withRollout([CANARY, CANARY, PROD]);
    const [first, , last] = agents as [TestAgent, TestAgent, TestAgent];
    const own = await assign(first, root, { config: { alias: "own" } });
    await report("installed", ...agents);
    await runRolloutJob();
    if (state === "completed") await report("installed", last);
    await runRolloutJob();
    if (state === "halted") await send("halt");
    const [changed] = (await organization.member("GET", agents[1]?.assignments ?? "")).body.items;
    await organization.admin("PATCH", `${agents[1]?.assignments}/${changed.id}`, { body: { certificateId: next } });
    expect((await read()).status).toBe(state);
    const answer = await send("rollback");
    expect(answer).toMatchObject({ status: 200, body: { status: "rolling_back", reason: null, rings: [{ state: "rolling_back", agents: 0 }, { agents: 0 }] } });
    expect((await desired(first)).map(({ id }) => id)).toEqual([own.id]);
    expect((await desired(agents[1] as TestAgent)).map(({ id }) => id)).toEqual([changed.id]);
    expect(await desired(last)).toEqual([]);
    const requestId = answer.headers.get("x-request-id");
    expect(await events("rollout.rolling-back")).toMatchObject([{ requestId }]);
    const agentsOf = (found: { details: { agentId: string } }[]) => found.map(({ details }) => details.agentId).toSorted();
    expect(agentsOf(await events("assignment.removing"))).toEqual([first.id, last.id].toSorted());
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "rolling_back", rollback: { pending: 2, failing: [] } });
    await obey("removed", first, last);
    expect(agentsOf(await events("assignment.deleted"))).toEqual([first.id, last.id].toSorted());
    expect((await read()).status).toBe("rolling_back");
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "rolled_back", rollback: { pending: 0, failing: [] }, rings: [{ state: "rolled_back" }, {}] });
    expect(await events("rollout.rolled-back")).toHaveLength(1);
  });

  test("200 and rolled back at once, where no agent has asked for anything yet", async () => {
    const { send, events } = await withRollout();
    expect((await send("rollback")).body).toMatchObject({ status: "rolled_back", rollback: { pending: 0, failing: [] } });
    expect(await events("assignment.deleted")).toHaveLength(1);
  });

  test("200 and rolling back while an agent fails: it is named; what it keeps, or its own deletion, ends the rollback", async () => {
    const { organization, agents, send, read } = await withRollout([CANARY, CANARY, CANARY]);
    const [failing, keeping, silent] = agents as [TestAgent, TestAgent, TestAgent];
    await report("installed", ...agents);
    await send("rollback");
    await obey("failed", failing);
    await obey("kept", keeping);
    await runRolloutJob();
    const named = ({ id, name }: { id: string; name: string }, state: string) => ({ agentId: id, agentName: name, state, message: `It is ${state}.` });
    const both = [named({ ...failing, name: "host-0" }, "failed"), named({ ...keeping, name: "host-1" }, "kept")];
    expect(await read()).toMatchObject({ status: "rolling_back", rollback: { pending: 2, failing: both } });
    await organization.admin("DELETE", silent.path);
    await obey("removed", failing);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "rolled_back", rollback: { pending: 0, failing: [both[1]] } });
  });

  test("200 for one of ten at once, and one audit event", async () => {
    const { send, events } = await withRollout();
    const answers = await Promise.all(Array.from({ length: 10 }, () => send("rollback")));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
    expect(await events("rollout.rolled-back")).toHaveLength(1);
    expect(await events("assignment.deleted")).toHaveLength(1);
  });

  test("200 while others resume, report and work at the same time: in the end nothing is left", async () => {
    const { agents, send, read } = await withRollout([CANARY, CANARY, PROD, PROD]);
    for (let round = 0; round < 3; round++) {
      await send("halt");
      const answers = await Promise.all([
        send("resume"),
        report("installed", ...agents),
        runRolloutJob(),
        send("halt"),
        runRolloutJob(),
        report("failed", ...agents),
      ]);
      expect(answers.flatMap((each) => each?.status ?? []).every((status) => [200, 409].includes(status))).toBe(true);
    }
    await send("halt");
    const [resumed, rolledBack] = await Promise.all([send("resume"), send("rollback"), runRolloutJob(), runRolloutJob()]);
    expect([[200, 409].includes(resumed.status), rolledBack.status]).toEqual([true, 200]);
    await obey("removed", ...agents);
    await runRolloutJob();
    expect((await read()).status).toBe("rolled_back");
    for (const agent of agents) expect(await desired(agent)).toEqual([]);
  });
});
