import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { ENDINGS, finish, killAtEachStep, type Piece, runHere, startJobProcess } from "../support/server/crash";
import { aRollout, deactivateOtherRollouts, newFleet, report } from "../support/server/fleet";
import { world } from "../support/server/world";

setDefaultTimeout(900_000);

const { sql } = world;
const count = async (rows: PromiseLike<readonly unknown[]>) => (await rows).length;
const eventsOf = ({ id }: { id: string }, action: string) => sql`select from audit_events where organization_id = ${id} and action = ${action}`;

if (!Bun.env.TEST_DATABASE_URL) throw new Error("TEST_DATABASE_URL is missing: a process of its own needs a database that takes more than one");

beforeAll(async () => {
  await prepareJobs(world.deps);
  await sql`delete from pgboss.job`;
  await deactivateOtherRollouts();
});
afterAll(() => world.deps.queue.stop());

describe("a process that is killed right before each of its writes, while it brings a rollout up to date", () => {
  const jobs = ["advance-rollouts"];
  const tables = ["rollouts", "assignments"];
  type Advanced = Piece & { fleet: Awaited<ReturnType<typeof newFleet>> };

  /** A rollout whose second ring is due; the clock, which queues the job each minute, is the test's. */
  async function dueRollout(): Promise<Advanced> {
    const fleet = await newFleet({ env: "canary" }, { env: "prod" });
    const [root = ""] = await fleet.importRoots("Example Root");
    const { body } = await fleet.organization.admin("POST", "/rollouts", { body: aRollout(root) });
    await report("installed", ...fleet.agents);
    const { queue } = world.deps;
    async function isDone() {
      const [row] = await sql`select version from rollouts where organization_id = ${fleet.organization.id} and id = ${body.id}`;
      if (row?.version === 1 && (await count(sql`select from pgboss.job where name = ${jobs[0] ?? ""} and state = 'created'`)) === 0)
        await sql.begin((tx) => queue.send(tx, jobs[0] ?? "", crypto.randomUUID(), {}));
      return row?.version === 2;
    }
    return { fleet, isDone };
  }

  /** The second ring is open, by one change; its agent has one assignment. */
  async function isOpenedOnce({ fleet }: Advanced) {
    const { id } = fleet.organization;
    expect(await count(eventsOf({ id }, "rollout.ring-opened"))).toBe(1);
    expect(await count(eventsOf({ id }, "assignment.created"))).toBe(2);
    expect([...(await sql`select count(*)::int as count from assignments where organization_id = ${id} group by agent_id`)]).toEqual([
      { count: 1 },
      { count: 1 },
    ]);
  }

  test.each(ENDINGS)("is taken over, and each ring opens once: %s", async (_, endings) => {
    const steps = await killAtEachStep({ jobs, tables, make: dueRollout, verify: isOpenedOnce }, endings);
    expect(steps).toBeGreaterThanOrEqual(3);
  });

  test("two processes at once open each ring once", async () => {
    const work: Advanced[] = [];
    for (let index = 0; index < 4; index++) work.push(await dueRollout());
    const other = await startJobProcess(jobs);
    other.go();
    await runHere(jobs, () => Promise.all(work.map(finish)));
    await other.kill();
    for (const each of work) await isOpenedOnce(each);
  });
});
