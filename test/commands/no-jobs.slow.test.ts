import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startMailServer } from "../support/server/mail-server";
import { connectTo } from "../support/server/postgres";
import { endServers, newDirectory, newPlace, run, serve } from "../support/server/program";
import { figures } from "../support/server/workers";
import { environment } from "../support/server/world";

setDefaultTimeout(300_000);

describe("certitude serve --no-jobs", () => {
  const { env, remove } = newDirectory();
  const { JWT_SECRET, SECRETS_KEY } = environment;
  const away = { ...env, DATABASE_URL: "postgres://127.0.0.1:1/nowhere", JWT_SECRET, SECRETS_KEY };
  afterAll(remove);

  test.each([
    ["without DATABASE_URL", env, [], "--no-jobs needs DATABASE_URL: the embedded database has one server, and no other could run its jobs."],
    ["with --demo", away, ["--demo"], "--demo is for a server that runs jobs: leave --no-jobs out."],
  ])("2 and a sentence: %s", async (_, given, options, sentence) => {
    const { code, out, err } = await run(["serve", "--no-jobs", ...options], given);
    expect([code, out, err.split("\n")[0]]).toEqual([2, "", sentence]);
  });
});

// The embedded database has one server.
if (Bun.env.TEST_DATABASE_URL)
  describe("a replica that only serves", () => {
    let place: Awaited<ReturnType<typeof newPlace>>;
    let mailServer: Awaited<ReturnType<typeof startMailServer>>;
    let env: Record<string, string>;
    let organizationId: string;
    let headers: Record<string, string>;
    beforeAll(async () => {
      [place, mailServer] = [await newPlace(), await startMailServer()];
      env = {
        ...place.env,
        TRUSTED_GATEWAYS: "127.0.0.1",
        SMTP_URL: mailServer.url,
        MAIL_FROM: "certitude@example.org",
        PUBLIC_URL: "https://certitude.example",
      };
      const user = crypto.randomUUID();
      const made = await run(["admin", "create-organization", "--name", "Example", "--admin-user", user, "--admin-email", "ada@example.org"], env);
      organizationId = made.out;
      const { out: token } = await run(["token", "--user", user, "--email", "ada@example.org"], env);
      headers = { authorization: `Bearer ${token}`, "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN" };
    });
    afterEach(endServers);
    afterAll(async () => {
      await mailServer.stop();
      await place.remove();
    });

    test.each([
      ["one process", []],
      ["two workers", ["--workers", "2"]],
    ])("%s: queues jobs, and leaves them to a server that runs jobs", async (_, options) => {
      const { $client: sql } = connectTo(env.DATABASE_URL ?? "");
      /** Whether a server has looked at the schedules, and how many queues one has counted. */
      const supervised = () => sql<{ scheduled: boolean; counted: number }[]>`
        select cron_on is not null as scheduled, (select count(*)::int from pgboss.queue where monitor_on is not null) as counted from pgboss.version`;
      async function forget() {
        await sql`delete from job_runs`;
        await sql`delete from audit_events where details->>'reason' is not null`;
        await sql`update pgboss.queue set monitor_on = null`;
        await sql`update pgboss.version set cron_on = null`;
      }
      const replica = serve(env, "--no-jobs", ...options);
      const url = await replica.url();
      expect(JSON.parse(await replica.says("server listening"))).toMatchObject({ jobs: false });
      expect(await (await fetch(`${url}/health/ready`)).json()).toEqual({ status: "ok", jobs: { late: [] }, clock: { aheadSeconds: 0 } });
      const email = `${crypto.randomUUID()}@people.example`;
      const invited = await fetch(`${url}/organizations/${organizationId}/members`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ email }),
      });
      expect(invited.status).toBe(201);
      // The refusal is written by the job of each process; by then every other job would have run too.
      expect((await fetch(`${url}/organizations/${organizationId}/certificates`)).status).toBe(403);
      const written = () => sql`select from audit_events where organization_id = ${organizationId} and details->>'reason' is not null`;
      while ((await written()).length === 0) await Bun.sleep(50);
      await replica.exit("SIGTERM");
      const ran = (await sql`select name from job_runs where server <> 'none' order by name`).map(({ name }) => name);
      expect(ran).toEqual(["end-trust", "index-audit-events", "save-job-runs", "write-audit-trail"]);
      expect(mailServer.received.map(({ to }) => to)).not.toContain(email);
      expect(await sql`select state from pgboss.job where name = 'send-mail' and state = 'created'`).toHaveLength(1);
      expect([...(await supervised())]).toEqual([{ scheduled: false, counted: 0 }]);

      const worker = serve(env);
      const at = await worker.url();
      while (!mailServer.received.some(({ to }) => to === email)) await Bun.sleep(20);
      while (!(await supervised()).some(({ scheduled, counted }) => scheduled && counted > 0)) await Bun.sleep(50);
      while ((await figures(at, 'certitude_job_runs_total{name="send-mail",outcome="succeeded"}'))[0] !== 1) await Bun.sleep(20);
      expect((await worker.exit("SIGTERM")).code).toBe(0);
      expect((await sql`select name from job_runs where name = 'send-mail' and runs = 1`).length).toBe(1);
      await forget();
      await sql.end();
    });
  });
