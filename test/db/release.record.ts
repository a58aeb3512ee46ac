import { expect, setDefaultTimeout, test } from "bun:test";
import { resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { MAINTENANCE } from "#db/connect";
import { migrate } from "#db/migrate";
import { indexDocument } from "#jobs/index-document";
import { maintainPartitions } from "#jobs/partitions";
import { reconcileRollouts } from "#jobs/reconcile-rollouts";
import { sweepObjects } from "#jobs/sweep-objects";
import { type Operation, operations } from "../support/openapi/document";
import { type PopulatedOrganization, populatedOrganization, withQueue } from "../support/server/populated-organization";
import { connectTo, startPostgres } from "../support/server/postgres";
import { numberIds, type Recording, replay } from "../support/server/recording";
import { world } from "../support/server/world";

// Not a test: `bun run record:release` writes down what this release sends to its database, for the next one to be tested against.
// Run it at each release, on a real Postgres (TEST_DATABASE_URL), and commit the file.

setDefaultTimeout(300_000);
withQueue();

const FIXTURE = resolve(import.meta.dir, "../fixtures/previous-release.json.gz");
/** Frames of transactions, and what the job queue does in its own schema. */
const LEFT_OUT = /^\s*(begin|commit|rollback|savepoint|release|listen|set |vacuum|discard)|\bpgboss\b/i;
const RANK: Record<string, number> = { GET: 0, POST: 1, PUT: 2, PATCH: 3, DELETE: 4 };

/** Reading first, then writing, then deleting, what lies deeper before what it lies in. */
const byEffect = (one: Operation, other: Operation) => (RANK[one.method] ?? 0) - (RANK[other.method] ?? 0) || other.path.length - one.path.length;

/** Every operation once, and what the server does by itself. */
async function useEverything() {
  const everything = await populatedOrganization();
  const [gentle, deleting] = [operations.filter((each) => each.method !== "DELETE"), operations.filter((each) => each.method === "DELETE")];
  for (const operation of gentle.filter((each) => each.id !== "signOut" && !each.path.includes("stream")).toSorted(byEffect)) await everything.send(operation);
  await runJobs(everything);
  for (const operation of deleting.toSorted(byEffect)) await everything.send(operation);
  for (const operation of operations.filter((each) => each.id === "signOut")) await everything.send(operation);
}

async function runJobs({ organization, ids }: PopulatedOrganization) {
  const { signal } = new AbortController();
  await reconcileRollouts(world.deps)({}, signal);
  const [document] = await world.sql`select job_id as "jobId" from documents where id = ${ids.documentId ?? ""}`;
  await indexDocument(world.deps, world.app.handle)({ organizationId: organization.id, documentId: ids.documentId ?? "", jobId: document?.jobId }, signal);
  await sweepObjects(world.deps)();
  await maintainPartitions(world.deps);
}

async function record(work: () => Promise<void>): Promise<Recording> {
  const texts: string[] = [];
  const steps: Recording["steps"] = [];
  const debug = (_: number, statement: string, parameters: unknown[]) => {
    if (LEFT_OUT.test(statement)) return;
    const known = texts.indexOf(statement);
    steps.push({ text: known < 0 ? texts.push(statement) - 1 : known, parameters: parameters.map(preserve), count: 0 });
  };
  await numberIds(world.sql);
  Object.assign(world.sql.options, { debug });
  await work().finally(() => Object.assign(world.sql.options, { debug: false }));
  return { recordedAt: new Date().toISOString(), texts, steps };
}

const preserve = (value: unknown): unknown => {
  if (value instanceof Uint8Array) return { base64: Buffer.from(value).toString("base64") };
  return typeof value === "object" && value !== null && "value" in value ? preserve(value.value) : value;
};

test("the statements of this release are recorded", async () => {
  const recording = await record(useEverything);
  const postgres = await startPostgres();
  const { $client: sql } = connectTo(postgres.url, MAINTENANCE);
  await migrate(sql);
  await numberIds(sql);
  const outcomes = await replay(sql, recording);
  const failures = outcomes.flatMap((each) => ("failure" in each ? each : []));
  const steps = recording.steps.flatMap((step, index) => {
    const outcome = outcomes[index];
    return outcome && "count" in outcome ? { ...step, count: outcome.count } : [];
  });
  expect(failures).toEqual([]);
  await Bun.write(FIXTURE, gzipSync(JSON.stringify({ ...recording, steps }), { level: 9 }));
  console.info(`${steps.length} statements, ${recording.texts.length} different ones`);
  await sql.end();
  await postgres.stop();
});
