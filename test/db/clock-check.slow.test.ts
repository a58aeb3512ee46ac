import { describe, expect, test } from "bun:test";
import { createClockCheck } from "#db/clock-check";
import { createDeps } from "#deps";
import type { Job } from "#jobs/job";
import { repeatJobs } from "#jobs/start";
import { JOBS } from "#jobs/table";
import { createLog } from "#log/log";
import { certificate, importInto } from "../support/pki/certificates";
import { call } from "../support/server/call";
import { newOrganization } from "../support/server/people";
import { startServer, world } from "../support/server/world";

const DAY_MS = 86_400_000;
const DIFFERS = "this server's clock and the database's differ by more than five minutes";

/** A clock that is as far ahead as the test sets, and what is logged because of it. */
function movable() {
  const time = { aheadMs: 0, steady: 0 };
  const lines: string[] = [];
  const log = createLog("info", { write: (line) => void lines.push(line) });
  const clock = () => new Date(Date.now() + time.aheadMs);
  return { time, log, lines, clock, logged: (words: string) => lines.filter((line) => line.includes(words)).length };
}

describe("the clock of a server and that of its database", () => {
  test.each([5 * DAY_MS, -5 * DAY_MS, 301_000, -301_000])(
    "differ where the server's is %p ms ahead, from the moment of the jump on, until it is put right",
    async (aheadMs) => {
      const { time, log, clock, logged } = movable();
      const check = createClockCheck({ sql: world.sql, clock, log, now: () => performance.now() });
      expect(await check.agrees()).toBe(true);
      time.aheadMs = aheadMs;
      expect(await check.agrees()).toBe(false);
      expect(await check.agrees()).toBe(false);
      expect(Math.abs((await check.aheadMs()) - aheadMs)).toBeLessThan(250_000);
      time.aheadMs = 0;
      expect(await check.agrees()).toBe(true);
      expect([logged(DIFFERS), logged("agree again")]).toEqual([1, 1]);
    },
  );

  test("agree while they are less than five minutes apart, and after the machine has slept", async () => {
    const { time, log, clock, logged } = movable();
    const check = createClockCheck({ sql: world.sql, clock, log, now: () => performance.now() - time.steady });
    for (const aheadMs of [0, 240_000, -240_000]) {
      time.aheadMs = aheadMs;
      expect(await check.agrees()).toBe(true);
    }
    time.aheadMs = 0;
    time.steady = DAY_MS; // a clock that never goes back may stand still while the machine sleeps
    expect(await check.agrees()).toBe(true);
    expect(logged(DIFFERS)).toBe(0);
  });

  test("the database is asked once while they agree, and not for each job", async () => {
    const { log, clock } = movable();
    let asked = 0;
    const sql = new Proxy(world.sql, {
      apply(target, self, given) {
        asked++;
        return Reflect.apply(target, self, given);
      },
    });
    const check = createClockCheck({ sql, clock, log, now: () => performance.now() });
    for (let count = 0; count < 20; count++) await check.agrees();
    expect(asked).toBe(1);
  });
});

describe("a server whose clock is five days ahead of the database's", () => {
  const WATCHING = ["watch-expiry", "tell-events"];
  const quicken = (job: Job): Job => ("everyMs" in job ? { ...job, everyMs: 20 } : job);

  test("records no false expiry and uses none up: once its clock is right, what is due is recorded", async () => {
    const { time, log, clock, logged } = movable();
    const organization = await newOrganization();
    const admin = await organization.join();
    await importInto(organization, certificate({ commonName: "soon.example", from: -300, days: 3.5 }).pem);
    const received = async () => {
      const { items } = (await admin.call("GET", "/users/me/notifications/inbox")).body as { items: { kind: string; title: string }[] };
      return items.map(({ kind, title }) => `${kind}: ${title}`);
    };
    time.aheadMs = 5 * DAY_MS;
    const deps = createDeps({ config: world.config, db: world.deps.db, log, clock });
    const stop = repeatJobs(deps, JOBS.filter(({ name }) => WATCHING.includes(name)).map(quicken));
    try {
      while (logged(DIFFERS) === 0 && (await received()).length === 0) await Bun.sleep(10);
      expect(await received()).toEqual([]);
      const [reminders] = await world.sql`select count(*)::int as count from notification_events where organization_id = ${organization.id}`;
      expect(reminders?.count).toBe(0);
      time.aheadMs = 0;
      while ((await received()).length === 0) await Bun.sleep(10);
      expect(await received()).toEqual(["certificate_expiring: soon.example expires in 3 days"]);
    } finally {
      await stop();
    }
  });

  test("every job that is handed the clock to decide what is due waits for it", () => {
    const waiting = JOBS.filter(({ byClock }) => byClock).map(({ name }) => name);
    expect(waiting.toSorted()).toEqual([
      "advance-rollouts",
      "ask-renewal-windows",
      "deliver-notifications",
      "deliver-to-failing-channels",
      "forget-notifications",
      "forget-reports",
      "issue-certificates",
      "issue-own-certificates",
      "mail-digests",
      "maintain-partitions",
      "publish-revocations",
      "renew-certificates",
      "sweep-objects",
      "tell-events",
      "watch-agents",
      "watch-credentials",
      "watch-due-dates",
      "watch-evidence",
      "watch-expiry",
    ]);
  });

  test("GET /health/ready: 200, and says by how much", async () => {
    const { server, url } = startServer(world.config, world.database, () => new Date(Date.now() + 5 * DAY_MS));
    const { status, body } = await call("GET", "/health/ready", { url });
    expect([status, Math.round(body.clock.aheadSeconds / 60)]).toEqual([200, 7_200]);
    await server.stop(true);
  });
});
