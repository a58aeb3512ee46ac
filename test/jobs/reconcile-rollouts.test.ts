import { beforeEach, describe, expect, test } from "bun:test";
import { reconciling } from "#jobs/reconcile-rollouts";
import { prepareJobs, runQueuedJobs } from "#jobs/start";
import { aRollout, deactivateOtherRollouts, desired, newFleet, report, runRolloutJob, type TestAgent } from "../support/server/fleet";
import { startServer, world } from "../support/server/world";

beforeEach(deactivateOtherRollouts);

async function withRollout() {
  const fleet = await newFleet({ env: "canary" }, { env: "prod" });
  const [root = ""] = await fleet.importRoots("Example Root");
  const { body } = await fleet.organization.admin("POST", "/rollouts", { body: aRollout(root) });
  const read = async () => (await fleet.organization.member("GET", `/rollouts/${body.id}`)).body;
  return { ...fleet, read };
}

/** Until they are allowed again, no audit event of such a ring can be written. */
const refuseRings = (organizationId: string) =>
  world.sql.unsafe(`
    create function refuse_ring() returns trigger language plpgsql as $$ begin raise exception 'no ring for this rollout'; end $$;
    create trigger refuse_ring before insert on audit_tail for each row
      when (new.organization_id = '${organizationId}' and new.action = 'rollout.ring-opened') execute function refuse_ring()`);
const allowRings = () => world.sql.unsafe("drop trigger refuse_ring on audit_tail; drop function refuse_ring()");

describe("the job that advances rollouts", () => {
  test("throws for a rollout that fails, leaves it as it was, and goes on with the others", async () => {
    const [first, doomed, last] = [await withRollout(), await withRollout(), await withRollout()];
    for (const { agents } of [first, doomed, last]) await report("installed", ...agents);
    await refuseRings(doomed.organization.id);
    const failure = await runRolloutJob().catch((error) => error);
    await allowRings();
    expect(failure).toBeInstanceOf(AggregateError);
    expect(failure.errors.map((each: Error) => each.message)).toEqual(["no ring for this rollout"]);
    for (const { read } of [first, last]) expect(await read()).toMatchObject({ version: 2, rings: [{ state: "done" }, { state: "open" }] });
    expect(await doomed.read()).toMatchObject({ version: 1, rings: [{ state: "done" }, { state: "waiting" }] });
    expect(await desired(doomed.agents[1])).toEqual([]);
    await runRolloutJob();
    expect(await desired(doomed.agents[1])).toHaveLength(1);
  });

  test("opens each ring once, on however many servers it runs at the same time", async () => {
    const { organization, agents, read, events } = await withRollout();
    const { deps, server } = startServer(world.config, world.database);
    for (const agent of agents as readonly TestAgent[]) {
      await report("installed", agent);
      const passing: Promise<void>[] = [];
      await world.sql.begin(async (tx) => {
        await tx`select from rollouts where organization_id = ${organization.id} for update`; // so that nobody is done before all have begun
        passing.push(runRolloutJob(), runRolloutJob(0, deps), runRolloutJob(), runRolloutJob(0, deps));
        await Bun.sleep(200);
      });
      await Promise.all(passing);
    }
    await server.stop(true);
    expect(await read()).toMatchObject({ status: "completed", version: 3 });
    for (const action of ["rollout.ring-opened", "rollout.completed"]) expect(await events(action)).toHaveLength(1);
    expect(await events("assignment.created")).toHaveLength(2);
  });

  test("is due each minute, and the queue runs it", async () => {
    const { agents, read } = await withRollout();
    await report("installed", ...agents);
    const { queue, sql } = world.deps;
    await prepareJobs(world.deps);
    try {
      expect([...(await sql`select cron from pgboss.schedule where name = ${reconciling.name}`)]).toEqual([{ cron: "* * * * *" }]);
      await runQueuedJobs(world.deps, world.app.handle);
      await sql.begin((tx) => queue.send(tx, reconciling.name, crypto.randomUUID(), {}));
      queue.wake(reconciling.name);
      while ((await read()).version === 1) await Bun.sleep(50);
    } finally {
      await queue.stop();
    }
    expect(await read()).toMatchObject({ rings: [{ state: "done" }, { state: "open" }] });
  });
});
