import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { prepareJobs } from "#jobs/start";
import { certificate, importInto } from "../support/pki/certificates";
import { ENDINGS, finish, killAtEachStep, type Piece, runHere, startJobProcess } from "../support/server/crash";
import { startMailServer } from "../support/server/mail-server";
import { mailSettings, startMailing } from "../support/server/mailing";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { world } from "../support/server/world";

setDefaultTimeout(900_000);

const { sql } = world;
const count = async (rows: PromiseLike<readonly unknown[]>) => (await rows).length;
const eventsOf = ({ id }: { id: string }, action: string) => sql`select from audit_events where organization_id = ${id} and action = ${action}`;

/** Nothing of other tests is left to do. */
async function tidy() {
  await sql`delete from pgboss.job`;
  await sql`delete from mails`;
  await sql`delete from expiry_reviews`;
  await sql`update expiry_watch set due_at = null where due_at is not null`;
  await sql`delete from expiry_reminders where recorded_at is null`;
  await sql`update notification_events set told_at = now() where told_at is null`;
}

// A process of its own needs a database that takes more than one.
if (Bun.env.TEST_DATABASE_URL) {
  beforeAll(async () => {
    await prepareJobs(world.deps);
    await tidy();
  });
  afterAll(() => world.deps.queue.stop());

  describe("a process that is killed right before each of its writes, while it watches expiry", () => {
    const jobs = ["watch-expiry", "tell-events"];
    const tables = ["expiry_watch", "expiry_reminders", "notification_events", "notices"];
    type Watched = Piece & { organization: TestOrganization; admin: { id: string }; ids: string[] };

    /** Certificates that end in five days, of which an admin is to have a notice. */
    async function expiring(size = 2): Promise<Watched> {
      const organization = await newOrganization();
      const admin = await organization.join("ORG_ADMIN");
      const ids = await importInto(organization, ...Array.from({ length: size }, () => certificate({ days: 5, from: -90 }).pem));
      const isDone = async () => {
        const reminders = await sql`select from expiry_reminders where organization_id = ${organization.id} and days = 7`;
        const open = await sql`select from notification_events where organization_id = ${organization.id} and told_at is null`;
        return reminders.length === size && open.length === 0;
      };
      return { organization, admin, ids, isDone };
    }

    /** The admin has exactly one notice of every certificate. */
    async function isNotifiedOnce({ admin, ids }: Watched) {
      const notices = await sql<{ items: { id: string }[] }[]>`
        select data -> 'items' as items from notices where user_id = ${admin.id} and kind = 'certificate_expiring'`;
      expect(notices.flatMap(({ items }) => items.map(({ id }) => id)).toSorted()).toEqual(ids.toSorted());
    }

    test.each(ENDINGS)("is taken over, and members are notified once: %s", async (_, endings) => {
      const steps = await killAtEachStep({ jobs, tables, make: () => expiring(), verify: isNotifiedOnce }, endings);
      expect(steps).toBeGreaterThanOrEqual(4);
    });

    test("two processes at once notify once", async () => {
      const work = await Promise.all(Array.from({ length: 10 }, () => expiring(5)));
      const other = await startJobProcess(jobs);
      other.go();
      await runHere(jobs, () => Promise.all(work.map(finish)));
      await other.kill();
      for (const each of work) await isNotifiedOnce(each);
    });
  });

  describe("a process that is killed right before each of its writes, while it sends a mail", () => {
    const jobs = ["send-mail", "send-mail-failed"];
    const tables = ["members", "mails"];
    let mailServer: Awaited<ReturnType<typeof startMailServer>>;
    let server: Awaited<ReturnType<typeof startMailing>>;
    let env: Record<string, string>;
    beforeAll(async () => {
      mailServer = await startMailServer();
      server = await startMailing(mailServer.url);
      env = { SMTP_URL: mailServer.url, MAIL_FROM: "Certitude <certitude@example.org>", PUBLIC_URL: "https://certitude.example" };
    });
    afterAll(async () => {
      await server.stop();
      await mailServer.stop();
    });
    type Invited = Piece & { organization: TestOrganization; email: string };

    async function invited(): Promise<Invited> {
      const organization = await newOrganization();
      const { body } = await organization.admin("POST", "/members", { body: { email: `${crypto.randomUUID()}@people.example` }, url: server.url });
      const isDone = async () =>
        (await count(sql`select from mails where cause->>'memberId' = ${body.id}`)) === 0 &&
        (await count(sql`select from pgboss.job where name = 'send-mail' and state in ('created', 'retry', 'active')`)) === 0;
      return { organization, email: body.email, isDone };
    }
    const config = () => ({ ...world.config, publicUrl: "https://certitude.example", mail: mailSettings(mailServer.url) });
    const receivedBy = (email: string) => mailServer.received.filter(({ to }) => to === email);

    test.each(ENDINGS)("is taken over: the mail is sent, a second time only as the same message, and is noted once: %s", async (_, endings) => {
      const doubled: number[] = [];
      async function verify({ organization, email }: Invited, killedAt = 0) {
        const received = receivedBy(email);
        expect(new Set(received.map(({ messageId }) => messageId)).size).toBe(1);
        expect(received.length).toBeLessThanOrEqual(2);
        if (received.length === 2) doubled.push(killedAt);
        expect(await count(eventsOf(organization, "member.invitation-mailed"))).toBe(1);
      }
      const steps = await killAtEachStep({ jobs, tables, env, config: config(), make: invited, verify }, endings);
      expect(steps).toBeGreaterThanOrEqual(3);
      expect(doubled).not.toContain(0);
      expect(doubled.length).toBeLessThan(steps); // before the mail is handed over, and once it is noted, none is sent again
    });

    test("two processes at once send each mail once", async () => {
      const work = await Promise.all(Array.from({ length: 30 }, invited));
      const other = await startJobProcess(jobs, env);
      other.go();
      await runHere(jobs, () => Promise.all(work.map(finish)), config());
      await other.kill();
      for (const { email } of work) expect(receivedBy(email)).toHaveLength(1);
    });
  });
}
