import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { MAINTENANCE, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { addAdmin } from "#modules/people/members/queries/members";
import { createOrganization } from "#modules/people/organizations/queries";
import { saveUser } from "#modules/people/users/queries";
import { certificate } from "../support/pki/certificates";
import { call } from "../support/server/call";
import { sign } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { endServers, newDirectory, serve } from "../support/server/program";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";
import { environment, startServer, world } from "../support/server/world";

setDefaultTimeout(300_000);

const LOST = { message: expect.stringContaining("was done, at least in part, but the server stopped before it could answer") };
const REFUSE_ANSWER = `
  create function refuse_answer() returns trigger language plpgsql as $$ begin raise exception 'no answer is kept'; end $$;
  create trigger refuse_answer before update on idempotency_keys for each row when (old.answer is null and new.answer is not null) execute function refuse_answer()`;
const ACCEPT_ANSWER = "drop trigger refuse_answer on idempotency_keys; drop function refuse_answer()";
const by = { actor: { type: "command-line" as const }, requestId: null };

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let server: ReturnType<typeof startServer>;
let token: string;
let organizationId: string;

beforeAll(async () => {
  postgres = await startPostgres();
  const { $client: sql } = connectTo(postgres.url, MAINTENANCE);
  await migrate(sql);
  await sql.end();
  proxy = await startProxy(targetOf(postgres.url));
  server = startServer({ ...world.config, requestTimeout: 5_000 }, { db: connectTo(viaPort(postgres.url, proxy.port)) });
});
afterAll(async () => {
  endServers();
  await server.server.stop(true);
  await server.sql.end({ timeout: 1 });
  await proxy.stop();
  await postgres.stop();
});
beforeEach(async () => {
  organizationId = Bun.randomUUIDv7();
  const userId = crypto.randomUUID();
  const email = `${userId}@people.example`;
  await saveUser(server.sql, { userId, email, name: null });
  await createOrganization(server.sql, { id: organizationId, name: "Once" }, by);
  await addAdmin(server.sql, server.deps.stamps, { ...by, organizationId }, { userId, email });
  token = await sign({ sub: userId, email });
});

const ask = (method: string, key?: string, url = server.url) =>
  call(method, `/organizations/${organizationId}/agents`, {
    url,
    token,
    headers: { "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN", ...(key && { "idempotency-key": key }) },
    ...(method === "POST" && { body: { name: "web-01" } }),
  });
const countAgents = async () => (await ask("GET")).body.items.length;

describe("a write that was answered 503 because the database was frozen", () => {
  test("is done once, and tried again it has its own answer", async () => {
    await ask("GET"); // the connections are there
    proxy.freeze();
    expect((await ask("POST", "frozen")).status).toBe(503);
    proxy.thaw();
    const answers = [await ask("POST", "frozen"), await ask("POST", "frozen")];
    expect(answers.map((each) => each.status)).toEqual([201, 201]);
    expect(answers[1]?.text).toBe(answers[0]?.text ?? "");
    expect(await countAgents()).toBe(1);
  });

  test("is done once when it was thrown away half-way", async () => {
    await ask("GET");
    proxy.freeze();
    const asked = ask("POST", "cut");
    await Bun.sleep(100);
    proxy.cut();
    expect((await asked).status).toBe(503);
    proxy.thaw();
    expect((await ask("POST", "cut")).status).toBe(201);
    expect(await countAgents()).toBe(1);
  });
});

// The embedded engine is one session: there a write cannot wait for another.
if (Bun.env.TEST_DATABASE_URL)
  describe("a write whose answer nobody got", () => {
    let sql: Pool;
    beforeAll(() => {
      const url = new URL(postgres.url);
      url.searchParams.set("connect_timeout", "60"); // a busy machine has its time
      sql = connectTo(url.href, { ...MAINTENANCE, max: 2 }).$client;
    });
    afterAll(() => sql.end());

    /** Lets no agent be made until `end`. */
    async function holdAgents() {
      const { promise: isOver, resolve: end } = Promise.withResolvers<void>();
      const { promise: isHeld, resolve: settle } = Promise.withResolvers<void>();
      const holding = sql.begin(async (tx) => {
        await tx`lock table agents in share row exclusive mode`;
        settle();
        await isOver;
      });
      await Promise.race([isHeld, holding]);
      return () => {
        end();
        return holding;
      };
    }
    /** Waits for the condition, which `asked` is to bring about before it is answered. */
    async function isTrue(condition: () => Promise<boolean>, asked?: ReturnType<typeof call>) {
      let early: Awaited<ReturnType<typeof call>> | undefined;
      asked?.then((answer) => {
        early = answer;
      });
      while (!(await condition())) {
        if (early) throw new Error(`it was answered ${early.status} too early: ${early.text}`);
        await Bun.sleep(20);
      }
    }
    const isWaiting = async () =>
      (await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%agents%' and datname = current_database()`).length > 0;
    const silence = () => sql`update idempotency_keys set alive_at = now() - interval '1 minute'`;

    test("400 when it was done and the connection was cut before the server heard so", async () => {
      const release = await holdAgents();
      const asked = ask("POST", "committed");
      await isTrue(isWaiting, asked);
      proxy.freeze();
      await release();
      await isTrue(async () => (await sql`select 1 from agents where organization_id = ${organizationId}`).length === 1);
      proxy.cut();
      proxy.thaw();
      expect((await asked).status).toBe(503);
      await isTrue(async () => (await sql`select 1 from idempotency_keys where alive_at = '-infinity' and caller like ${`${organizationId}%`}`).length === 1);
      expect(await ask("POST", "committed")).toMatchObject({ status: 400, body: LOST });
      expect(await countAgents()).toBe(1);
    });

    test("201 once when another replica takes it over while the first is still at it", async () => {
      const replica = startServer({ ...world.config, requestTimeout: 5_000 }, { db: connectTo(postgres.url) });
      const release = await holdAgents();
      const first = ask("POST", "taken-over");
      await isTrue(isWaiting, first);
      await silence();
      const second = ask("POST", "taken-over", replica.url);
      await isTrue(
        async () =>
          (await sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%agents%' and datname = current_database()`).length === 2,
        second,
      );
      await release();
      expect([(await first).status, (await second).status]).toEqual([503, 201]);
      expect((await ask("POST", "taken-over")).text).toBe((await second).text);
      expect(await countAgents()).toBe(1);
      await replica.server.stop(true);
      await replica.sql.end({ timeout: 1 });
    });

    test("503 while its process may still be there, then 400, when that was killed between commit and answer", async () => {
      const { JWT_SECRET, SECRETS_KEY } = environment;
      const { env, remove } = newDirectory();
      const doomed = serve({ ...env, DATABASE_URL: postgres.url, JWT_SECRET, SECRETS_KEY });
      const url = await doomed.url();
      // The answer cannot be kept, so that it waits.
      await sql.unsafe(REFUSE_ANSWER);
      const asked = ask("POST", "killed", url).catch(() => "no answer");
      await isTrue(async () => (await sql`select 1 from agents where organization_id = ${organizationId}`).length === 1);
      await doomed.exit("SIGKILL");
      expect(await asked).toBe("no answer");
      await sql.unsafe(ACCEPT_ANSWER);
      expect(await ask("POST", "killed")).toMatchObject({ status: 503, body: { message: expect.stringContaining("still being worked on") } });
      await silence();
      expect(await ask("POST", "killed")).toMatchObject({ status: 400, body: LOST });
      expect(await countAgents()).toBe(1);
      await remove();
    });

    test("200 for an import that was done and whose answer is lost, because it may be made again", async () => {
      const { pem } = certificate();
      const send = (key: string) =>
        call("POST", `/organizations/${organizationId}/certificates`, {
          url: server.url,
          token,
          headers: { "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN", "idempotency-key": key },
          body: { pem },
        });
      await sql.unsafe(REFUSE_ANSWER);
      const asked = send("import");
      await isTrue(async () => (await sql`select 1 from certificates where organization_id = ${organizationId}`).length === 1, asked);
      await silence();
      const claim = async () => (await sql`select claim_id as id from idempotency_keys where caller like ${`${organizationId}%`}`)[0]?.id;
      const first = await claim();
      const again = send("import");
      await isTrue(async () => (await claim()) !== first, again);
      await sql.unsafe(ACCEPT_ANSWER);
      expect([(await asked).status, (await again).status]).toEqual([201, 200]);
    });

    test("201 when its process was killed before anything was done", async () => {
      expect((await ask("POST", "early")).status).toBe(201);
      await sql`delete from agents where organization_id = ${organizationId}`;
      await sql`update idempotency_keys set is_done = false, answer = null where caller like ${`${organizationId}%`}`;
      await silence();
      expect((await ask("POST", "early")).status).toBe(201);
      expect(await countAgents()).toBe(1);
    });
  });
