import { beforeEach, describe, expect, test } from "bun:test";
import { aRollout, deactivateOtherRollouts, desired, newFleet, report, runRolloutJob, type TestAgent } from "../../../support/server/fleet";
import { prepare, sendWithKey } from "../../../support/server/prepare";
import { world } from "../../../support/server/world";

beforeEach(deactivateOtherRollouts);

type Ring = { state: string; agents: number; observed: number; failed: number; pending: number };

const CANARY = { env: "canary" };
const PROD = { env: "prod" };

async function withRollout(labels: Record<string, string>[], rest: object = {}) {
  const fleet = await newFleet(...labels);
  const [root = ""] = await fleet.importRoots("Example Root");
  const { status, body } = await fleet.organization.admin("POST", "/rollouts", { body: aRollout(root, {}, rest) });
  if (status !== 201) throw new Error(`the rollout was answered ${status}: ${JSON.stringify(body)}`);
  const path = `/rollouts/${body.id}`;
  const read = async () => (await fleet.organization.member("GET", path)).body;
  const states = async () => (await read()).rings.map((each: Ring) => each.state);
  const counts = async () => (await read()).rings.map(({ agents, observed, failed, pending }: Ring) => [agents, observed, failed, pending]);
  return { ...fleet, root, path, read, states, counts };
}

/** How many of the agents have something to install. */
async function reached(agents: readonly TestAgent[]) {
  const all = await Promise.all(agents.map(desired));
  return all.map((each) => each.length).join("");
}

describe("the rings of a rollout", () => {
  test("open one after the other, each when every agent of the one before has observed the certificate", async () => {
    const { agents, states, read, events } = await withRollout([CANARY, CANARY, PROD, {}]);
    await report("installed", agents[0] as TestAgent);
    await runRolloutJob();
    expect([await states(), await reached(agents)]).toEqual([["open", "waiting"], "1100"]);
    await report("drifted", agents[1] as TestAgent);
    await runRolloutJob();
    expect([await states(), await reached(agents)]).toEqual([["done", "open"], "1110"]);
    expect(await read()).toMatchObject({ status: "running", version: 2 });
    await report("installed", ...agents);
    await runRolloutJob();
    expect([await states(), await reached(agents)]).toEqual([["done", "done"], "1110"]);
    expect(await read()).toMatchObject({ status: "completed", version: 3 });
    const server = { actor: { type: "server" }, requestId: null };
    expect(await events("rollout.ring-opened")).toMatchObject([{ ...server, details: { ring: 2 } }]);
    expect(await events("rollout.completed")).toMatchObject([server]);
    expect(await events("assignment.created")).toMatchObject([server, {}, {}]);
  });

  test("do not open for what is not the certificate", async () => {
    const { agents, root, states, counts } = await withRollout([CANARY, PROD]);
    const [canary] = agents as [TestAgent];
    const [{ id } = { id: "" }] = await desired(canary);
    for (const observed of [{}, { observedFingerprint: "0".repeat(64) }]) {
      await canary.call("POST", "/agent/reports", { body: { reports: [{ assignmentId: id, state: "installed", ...observed }] } });
      await runRolloutJob();
      expect([root, await states(), await counts()]).toEqual([
        root,
        ["open", "waiting"],
        [
          [1, 0, 0, 1],
          [1, 0, 0, 1],
        ],
      ]);
    }
  });

  test("take a share, rounded up, the oldest agents first, and never an agent of an earlier ring", async () => {
    const rings = [{ selector: "env=canary" }, { selector: "env=prod", share: 0.1 }, { selector: "env in (prod,canary)", share: 0.5 }, { selector: "env" }];
    const { agents, counts, states } = await withRollout([...Array.from({ length: 11 }, () => PROD), CANARY, { env: "dev" }, {}], { rings });
    expect((await counts()).map(([agents = 0]: number[]) => agents)).toEqual([1, 2, 5, 5]);
    expect(await reached(agents)).toBe("00000000000100");
    for (const [now, after] of [
      [["done", "open", "waiting", "waiting"], "11000000000100"],
      [["done", "done", "open", "waiting"], "11111110000100"],
      [["done", "done", "done", "open"], "11111111111110"],
    ]) {
      await report("installed", ...agents);
      await runRolloutJob();
      expect([await states(), await reached(agents)]).toEqual([now, after]);
    }
  });

  test("take an exact share of an even number", async () => {
    const { counts } = await withRollout(
      Array.from({ length: 30 }, () => PROD),
      { rings: [{ share: 0.1 }, { share: 0.7 }, {}] },
    );
    expect((await counts()).map(([agents = 0]: number[]) => agents)).toEqual([3, 19, 8]);
  });

  test("are passed over where nobody is in them", async () => {
    const rings = [{ selector: "env=nowhere" }, { selector: "env=canary" }, { selector: "env=canary" }, { selector: "env=prod" }];
    const { agents, states, read } = await withRollout([CANARY, PROD], { rings });
    expect([await states(), await reached(agents)]).toEqual([["done", "open", "waiting", "waiting"], "10"]);
    await report("installed", ...agents);
    await runRolloutJob();
    expect([await states(), await reached(agents)]).toEqual([["done", "done", "done", "open"], "11"]);
    expect((await read()).version).toBe(3);
  });

  test("are for ever: neither another label nor a new agent changes them", async () => {
    const { organization, agents, counts } = await withRollout([CANARY, PROD, PROD]);
    const [, second, third] = agents as [TestAgent, TestAgent, TestAgent];
    await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { agentIds: [second.id], set: CANARY } });
    await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { agentIds: [third.id], unset: ["env"] } });
    await organization.admin("POST", "/agents", { body: { name: "new", labels: CANARY } });
    await runRolloutJob();
    expect([await counts(), await reached(agents)]).toEqual([
      [
        [1, 0, 0, 1],
        [2, 0, 0, 2],
      ],
      "100",
    ]);
  });

  test("count an agent no more that is deleted, before its ring opens or after, nor one whose assignment is disabled or deleted", async () => {
    const { organization, agents, counts, read } = await withRollout([CANARY, CANARY, CANARY, CANARY, PROD, PROD]);
    const [first, second, third, fourth, waiting, last] = agents as TestAgent[];
    for (const gone of [first, waiting]) await organization.admin("DELETE", gone?.path ?? "");
    const assignments = async (agent?: TestAgent) => (await organization.member("GET", agent?.assignments ?? "")).body.items;
    const [disabled] = await assignments(second);
    await organization.admin("PATCH", `${second?.assignments}/${disabled.id}`, { body: { enabled: false } });
    const [deleted] = await assignments(third);
    await organization.admin("DELETE", `${third?.assignments}/${deleted.id}`);
    expect(await counts()).toEqual([
      [1, 0, 0, 1],
      [1, 0, 0, 1],
    ]);
    await report("installed", fourth as TestAgent);
    await runRolloutJob();
    await report("installed", last as TestAgent);
    await runRolloutJob();
    expect(await counts()).toEqual([
      [1, 1, 0, 0],
      [1, 1, 0, 0],
    ]);
    expect((await read()).status).toBe("completed");
  });

  test("open early where a part of the agents is enough", async () => {
    const { agents, states } = await withRollout([CANARY, CANARY, CANARY, PROD], { successShare: 0.66 });
    await report("installed", agents[0] as TestAgent);
    await runRolloutJob();
    expect(await states()).toEqual(["open", "waiting"]);
    await report("installed", agents[1] as TestAgent);
    await runRolloutJob();
    expect([await states(), await reached(agents)]).toEqual([["done", "open"], "1111"]);
  });

  test("halt when too many of one report failed, or that their host refuses, with a sentence that says why", async () => {
    const { agents, counts, read, events } = await withRollout([CANARY, CANARY, CANARY, PROD], { haltShare: 0.5 });
    await report("failed", agents[0] as TestAgent);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "running", reason: null });
    await report("refused", agents[1] as TestAgent);
    await runRolloutJob();
    const reason = "In ring 1, 2 of 3 agents report failed, and the rollout halts at a share of 0.5.";
    expect(await read()).toMatchObject({ status: "halted", reason, version: 2 });
    expect(await counts()).toEqual([
      [3, 0, 2, 1],
      [1, 0, 0, 1],
    ]);
    expect(await events("rollout.halted")).toMatchObject([{ actor: { type: "server" }, details: { reason } }]);
    await report("installed", ...agents);
    await runRolloutJob();
    expect([(await read()).status, await reached(agents)]).toEqual(["halted", "1110"]);
  });

  test("halt at the exact share, and for an earlier ring too", async () => {
    const { agents, read } = await withRollout([...Array.from({ length: 10 }, () => CANARY), PROD]);
    await report("installed", ...agents);
    await runRolloutJob();
    await report("failed", agents[3] as TestAgent);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "halted", reason: expect.stringContaining("In ring 1, 1 of 10 agents report failed") });
  });

  test("halt when nobody may install the certificate any more", async () => {
    const { organization, root, agents, read, states } = await withRollout([CANARY, PROD]);
    await report("installed", ...agents);
    await organization.admin("POST", `/certificates/${root}/revoke`, { body: {} });
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "halted", reason: "The certificate was revoked or retired, so no agent installs it." });
    expect(await states()).toEqual(["done", "waiting"]);
  });

  test("forget no agent where one transaction does not reach all", async () => {
    const { organization, importRoots } = await newFleet();
    await prepare(
      (sql) => sql`
        insert into agents (organization_id, id, name, token_hash)
        select ${organization.id}, new_id(), 'host-' || i, sha256((${organization.id} || i)::bytea) from generate_series(1, 10100) i`,
    );
    const count = async () =>
      (await world.sql<{ count: number }[]>`select count(*)::int as count from assignments where organization_id = ${organization.id}`)[0]?.count;
    const [root = ""] = await importRoots("Example Root");
    const { status, body } = await sendWithKey((headers) => organization.admin("POST", "/rollouts", { body: aRollout(root, {}, { rings: [{}] }), headers }));
    expect([status, await count(), body.rings[0].agents, body.rings[0].pending]).toEqual([201, 5_000, 10_100, 10_100]);
    await runRolloutJob();
    expect(await count()).toBe(10_100);
    const rolledBack = await sendWithKey((headers) => organization.admin("POST", `/rollouts/${body.id}/rollback`, { headers }));
    expect([rolledBack.status, rolledBack.body.status, await count()]).toEqual([200, "rolling_back", 5_100]);
    await runRolloutJob();
    expect(await count()).toBe(0);
  });
});
