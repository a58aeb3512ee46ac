import { expect, test } from "bun:test";
import { forgetReports } from "#jobs/forget-reports";
import { newReporter } from "../modules/fleet/agent-protocol/reporters";
import { world } from "../support/server/world";

const DAY = 86_400_000;

const one = ({ ids: [first = ""] }: { ids: string[] }) => first;

test("reports older than ninety days are deleted, but never the last of an assignment", async () => {
  const [busy, quiet] = await Promise.all([newReporter(), newReporter()]);
  const clocks = ["1970-01-01T00:00:00Z", "2999-01-01T00:00:00Z"]; // the agent's own time says nothing here
  for (const [index, state] of ["installed", "drifted", "failed", "installed"].entries()) await busy.say(state, { observedAt: clocks[index % 2 ? 0 : 1] });
  await quiet.say("installed");
  const age = (assignmentId: string, days: number, from: number) =>
    world.sql`
      update deployment_reports set reported_at = now() - ${days}::int * interval '1 day'
      where id in (select id from deployment_reports where assignment_id = ${assignmentId} order by id limit ${from}::int)`;
  await age(one(busy), 89, 3);
  await age(one(busy), 91, 2);
  await age(one(quiet), 400, 1);
  const statesOf = async (assignmentId: string) =>
    (await world.sql<{ state: string }[]>`select state from deployment_reports where assignment_id = ${assignmentId} order by id`).map(({ state }) => state);

  const deps = { sql: world.sql, clock: () => new Date() };
  await forgetReports(deps)([], new AbortController().signal);
  expect(await statesOf(one(busy))).toEqual(["failed", "installed"]);
  expect(await statesOf(one(quiet))).toEqual(["installed"]);

  const later = { ...deps, clock: () => new Date(Date.now() + 200 * DAY) };
  await forgetReports(later)([], new AbortController().signal);
  expect(await statesOf(one(busy))).toEqual(["installed"]);
});
