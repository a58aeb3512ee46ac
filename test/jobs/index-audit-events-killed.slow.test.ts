import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { auditMany } from "#modules/people/audit/queries";
import { ENDINGS, finish, killAtEachStep, type Piece, runHere, startJobProcess } from "../support/server/crash";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(900_000);

const { sql } = world;
const jobs = ["index-audit-events"];
/** Three batches of the job. */
const EVENTS = 12_000;

type Written = Piece & { organization: TestOrganization };

/** An organization with an event of each of 12,000 targets, in the tail. */
async function written(): Promise<Written> {
  const organization = await newOrganization();
  const { id, scope } = organization;
  await sql`${auditMany(sql, scope, "test.made", sql`select 'target-' || n, '{}'::jsonb from generate_series(1, ${EVENTS}::int) as n`)}`;
  return { organization, isDone: async () => (await sql`select from audit_tail where organization_id = ${id} limit 1`).length === 0 };
}

/** Each event is there once, under the indexes. */
async function isIndexedOnce({ organization: { id } }: Written) {
  const [row] = await sql`
    select count(*)::int as events, count(distinct target_id)::int as targets from only audit_events where organization_id = ${id} and action = 'test.made'`;
  expect(row).toEqual({ events: EVENTS, targets: EVENTS });
}

// A process of its own needs a database that takes more than one.
if (Bun.env.TEST_DATABASE_URL)
  describe("a process that is killed at each of its writes, while it moves audit events under their indexes", () => {
    beforeAll(() => prepareJobs(world.deps));

    test.each(ENDINGS)("loses no event and doubles none: %s", async (_, endings) => {
      const tables = ["audit_tail", "audit_events"];
      expect(await killAtEachStep({ jobs, tables, make: written, verify: isIndexedOnce }, endings)).toBeGreaterThanOrEqual(6);
    });

    test("nor does it beside another", async () => {
      const other = await startJobProcess(jobs);
      other.go();
      const work: Written[] = [];
      await runHere(jobs, async () => {
        for (let index = 0; index < 4; index++) work.push(await written());
        await Promise.all(work.map(finish));
      });
      await other.kill();
      for (const each of work) await isIndexedOnce(each);
    });
  });
