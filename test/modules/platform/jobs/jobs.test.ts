import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createApp } from "#app";
import { createDeps } from "#deps";
import { listen } from "#http/listen";
import { prepareJobs, repeatJobs } from "#jobs/start";
import { JOBS } from "#jobs/table";
import { createLog } from "#log/log";
import { ServerStops, TryAgain } from "#modules/platform/jobs/rules";
import { createJobRuns } from "#modules/platform/jobs/services/job-runs";
import { call } from "../../../support/server/call";
import { newStaff, type Staff } from "../../../support/server/knowledge";
import { newUser } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

setDefaultTimeout(300_000);

const SECOND = 1_000;
const HOUR = 3_600_000;
const { sql } = world;

let now = Date.now();
/** A server that has run for as long as the test says. */
function startAged(age: () => number) {
  const aged = createDeps({ config: world.config, db: world.database.db, log: createLog("silent"), now: age });
  const listening = listen(createApp(aged), aged);
  async function stop() {
    await aged.queue.stop();
    await listening.stop(true);
  }
  return { deps: aged, url: listening.url.href.replace(/\/$/, ""), stop };
}

const { deps, url, stop } = startAged(() => now);
let staff: Staff;

beforeAll(async () => {
  await prepareJobs(deps);
  staff = await newStaff();
});
beforeEach(async () => {
  await sql`delete from job_runs`;
});
afterAll(stop);

const read = async () => (await staff.call("GET", "/admin/jobs", { url })).body.items as Record<string, unknown>[];
const find = async (name: string) => (await read()).find((job) => job.name === name);
const ready = async () => (await call("GET", "/health/ready", { url })).body;
const works = async () => {};
const fails = (error: unknown) => () => Promise.reject(error);

/** Notes of a process of its own. */
const aProcess = (name: string) => createJobRuns({ sql, now: () => now, server: name });
/** Runs a job, as the table has it, for so many milliseconds. */
async function run(runs: typeof deps.jobRuns, name: string, work: () => Promise<void> = works, milliseconds = 0) {
  await runs
    .track(name, async () => {
      now += milliseconds;
      await work();
    })
    .catch(() => {});
}

describe("GET /admin/jobs", () => {
  test("401 for a stranger, 403 for a user who is no staff", async () => {
    const user = await newUser();
    expect(await call("GET", "/admin/jobs", { url })).toMatchObject({ status: 401, body: "" });
    expect((await user.call("GET", "/admin/jobs", { url, headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test("200 every job of the table, also those that never ran", async () => {
    const items = await read();
    expect(items.map(({ name }) => name)).toEqual(JOBS.map(({ name }) => name));
    expect(new Set(items.map(({ name }) => name)).size).toBe(items.length);
    expect(items.find(({ name }) => name === "watch-expiry")).toMatchObject({ everySeconds: 20, runs: 0, lastStartedAt: null, queue: null });
    expect(items.find(({ name }) => name === "sweep-objects")).toMatchObject({ everySeconds: 3_600, queue: { active: 0, failed: 0 } });
    expect(items.find(({ name }) => name === "send-mail")).toMatchObject({ everySeconds: null, isLate: false });
  });

  test("200 says when a job ran, where, for how long and what failed", async () => {
    const one = aProcess("one:1");
    await run(one, "fold-counts", works, 40);
    await run(one, "fold-counts", fails(new TryAgain("2 organizations could not be counted")), 70);
    await one.save();
    const job = await find("fold-counts");
    expect(job).toMatchObject({ server: "one:1", lastOutcome: "failed", lastDurationMs: 70, runs: 2, failures: 1 });
    expect(job?.lastFailure).toBe("2 organizations could not be counted.");
    expect(Date.parse(`${job?.lastFinishedAt}`) - Date.parse(`${job?.lastStartedAt}`)).toBe(70);
    expect(Date.parse(`${job?.lastFailedAt}`) - Date.parse(`${job?.lastSucceededAt}`)).toBe(70);
  });

  test("200 adds up what several processes report; the latest run counts", async () => {
    const [one, other] = [aProcess("one:1"), aProcess("other:2")];
    await run(one, "fold-counts", fails(new TryAgain("first")));
    now += SECOND;
    await run(other, "fold-counts");
    await Promise.all([one.save(), other.save()]);
    expect(await find("fold-counts")).toMatchObject({ server: "other:2", lastOutcome: "succeeded", runs: 2, failures: 1, lastFailure: "First." });
    await one.save();
    await one.save();
    expect(await find("fold-counts")).toMatchObject({ runs: 2 });
  });

  test("200 shows no more of a failure than words of ours", async () => {
    const secret = "hunter2-of-a-customer";
    const broken = sql`select ${secret}::uuid`.then(
      () => {},
      (error) => Promise.reject(error),
    );
    const failures: [unknown, string][] = [
      [await broken.catch((error) => error), "The database refuses a statement (SQLSTATE 22P02). The server's log says more."],
      [new RangeError(secret), "It failed in a way that was not foreseen (RangeError). The server's log says more."],
      [Object.assign(new Error(secret), { code: "ECONNREFUSED" }), "The database is away or too slow."],
      [new AggregateError([new Error(secret)], "3 rollouts could not be brought up to date"), "3 rollouts could not be brought up to date."],
    ];
    for (const [error, sentence] of failures) {
      const one = aProcess("one:1");
      now += SECOND;
      await run(one, "fold-counts", fails(error));
      await one.save();
      expect(await find("fold-counts")).toMatchObject({ lastFailure: sentence });
    }
  });

  test("200 counts what a stop cuts off neither as a success nor as a failure", async () => {
    const one = aProcess("one:1");
    await run(one, "fold-counts", fails(new ServerStops()));
    await one.save();
    expect(await find("fold-counts")).toMatchObject({ runs: 0, failures: 0, lastOutcome: null, lastFinishedAt: null });
  });

  test("200 keeps for the next time what could not be written", async () => {
    const one = aProcess("one:1");
    await run(one, "fold-counts");
    await sql`alter table job_runs rename to job_runs_away`;
    expect(await one.save().catch((error: Error) => error.message)).toContain("job_runs");
    await sql`alter table job_runs_away rename to job_runs`;
    await run(one, "fold-counts");
    await one.save();
    expect(await find("fold-counts")).toMatchObject({ runs: 2 });
  });

  test("200 shows what waits in a queue", async () => {
    const { queue } = deps;
    await sql.begin((tx) => queue.send(tx, "send-mail-failed", crypto.randomUUID(), { mailId: crypto.randomUUID() }));
    while ((await find("send-mail-failed"))?.queue === null || !JSON.stringify(await find("send-mail-failed")).includes('"waiting":1')) await Bun.sleep(100);
    await sql`delete from pgboss.job where name = 'send-mail-failed'`;
  });
});

describe("a job that runs each second or two", () => {
  test("costs no write of its own: all jobs are written together, every 15 seconds", async () => {
    const lines: string[] = [];
    const own = startServer(world.config, world.database);
    await prepareJobs(own.deps);
    const debug = (_: number, text: string) => void (text.includes("into job_runs") && lines.push(text));
    Object.assign(sql.options, { debug });
    const startedAt = performance.now();
    const stopJobs = repeatJobs(own.deps);
    while ((own.deps.jobRuns.own().find(({ name }) => name === "tell-events")?.runs ?? 0) < 4) await Bun.sleep(50);
    const before = lines.length;
    const periods = Math.floor((performance.now() - startedAt) / (15 * SECOND));
    await stopJobs();
    Object.assign(sql.options, { debug: false });
    await own.deps.queue.stop();
    await own.server.stop(true);
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThanOrEqual(1 + periods); // one at the start, however long four turns took
    expect(lines.length).toBeGreaterThan(before); // the last turn at the stop
    expect(Number((await find("tell-events"))?.runs)).toBeGreaterThanOrEqual(4);
  });
});

describe("GET /health/ready", () => {
  /** All jobs were seen so long ago. */
  async function seenAgo(milliseconds: number) {
    const one = aProcess("one:1");
    for (const { name } of JOBS) await run(one, name);
    await one.save();
    await sql`update job_runs set seen_at = now() - ${milliseconds}::float8 * interval '1 millisecond'`;
  }

  test("200 names what was not run for three of its periods, and 45 seconds at least; what waits for work is never late", async () => {
    now += 40 * 24 * HOUR; // the server has run for longer than any period
    await seenAgo(40 * SECOND);
    expect(await ready()).toEqual({ status: "ok", jobs: { late: [] }, clock: { aheadSeconds: 0 } });
    await seenAgo(50 * SECOND);
    const often = JOBS.flatMap((job) => ("everyMs" in job && job.everyMs <= 15 * SECOND ? job.name : []));
    expect((await ready()).jobs.late.toSorted()).toEqual(often.toSorted());
    expect(often).toContain("tell-events");
    await seenAgo(61 * SECOND);
    expect((await ready()).jobs.late).toContain("watch-expiry");
    await seenAgo(181 * SECOND);
    expect((await ready()).jobs.late).toEqual(expect.arrayContaining(["advance-rollouts", "link-certificates", "end-trust"]));
    await seenAgo(4 * 24 * HOUR);
    const periodic = (await read()).filter(({ everySeconds }) => everySeconds !== null);
    expect((await ready()).jobs.late).toEqual(periodic.map(({ name }) => name));
    expect(periodic.every(({ isLate }) => isLate)).toBe(true);
    expect((await read()).filter(({ everySeconds }) => everySeconds === null).some(({ isLate }) => isLate)).toBe(false);
  });

  test("200 a job that never ran is late too", async () => {
    expect((await ready()).jobs.late).toContain("watch-expiry");
  });

  test("200 a server that has just started calls no job late, however long no server ran", async () => {
    await seenAgo(1_000 * 24 * HOUR);
    let later = 0;
    const young = startAged(() => now + later);
    await prepareJobs(young.deps);
    const late = async () => (await call("GET", "/health/ready", { url: young.url })).body.jobs.late;
    expect(await late()).toEqual([]);
    later = 44 * SECOND;
    expect(await late()).toEqual([]);
    later = 61 * SECOND;
    expect(await late()).toContain("watch-expiry");
    expect(await late()).not.toContain("maintain-partitions");
    await young.stop();
  });

  test("200 a long run is a sign of life, until it has taken too long", async () => {
    const one = aProcess("one:1");
    one.expect([{ name: "link-certificates", everyMs: 60 * SECOND, limitMs: HOUR }]);
    const held = Promise.withResolvers<void>();
    const running = one.track("link-certificates", () => held.promise);
    now += HOUR;
    await one.save();
    expect((await ready()).jobs.late).not.toContain("link-certificates");
    now += SECOND;
    await sql`delete from job_runs`;
    await one.save();
    expect((await ready()).jobs.late).toContain("link-certificates");
    held.resolve();
    await running;
    await one.save();
    expect((await ready()).jobs.late).not.toContain("link-certificates");
  });

  test("200 costs one statement", async () => {
    const texts: string[] = [];
    Object.assign(sql.options, { debug: (_: number, text: string) => void texts.push(text) });
    await ready();
    Object.assign(sql.options, { debug: false });
    expect(texts.filter((text) => !text.includes("pgboss"))).toEqual([expect.stringContaining("from job_runs")]);
  });
});

describe("GET /metrics", () => {
  test("200 shows runs, failures and seconds of this process, and of all servers when each job last succeeded and what waits", async () => {
    await run(deps.jobRuns, "fold-counts", works, 2 * SECOND);
    await run(deps.jobRuns, "fold-counts", fails(new TryAgain("no")), SECOND);
    await deps.jobRuns.save();
    await sql`update job_runs set succeeded_at = now() - interval '100 seconds' where name = 'fold-counts'`;
    const { text } = await call("GET", "/metrics", { url });
    const figure = (series: string) =>
      Number(
        text
          .split("\n")
          .find((line) => line.startsWith(`${series} `))
          ?.split(" ")
          .at(-1),
      );
    expect(figure('certitude_job_runs_total{name="fold-counts",outcome="succeeded"}')).toBe(1);
    expect(figure('certitude_job_runs_total{name="fold-counts",outcome="failed"}')).toBe(1);
    expect(figure('certitude_job_seconds_total{name="fold-counts"}')).toBe(3);
    expect(figure('certitude_job_seconds_since_success{name="fold-counts"}')).toBeWithin(100, 110);
    expect(figure('certitude_job_late{name="fold-counts"}')).toBe(0);
    const late = Array.from(text.matchAll(/^certitude_job_late\{name="([^"]+)"\} 1$/gm), ([, name]) => name);
    expect(late).toEqual((await call("GET", "/health/ready", { url })).body.jobs.late);
    expect(figure('certitude_job_queue_jobs{name="send-mail",state="waiting"}')).toBeGreaterThanOrEqual(0);
    expect(text).not.toContain('since_success{name="watch-expiry"}');
  });
});
