import { afterAll, beforeAll, expect, test } from "bun:test";
import { ALL_LEVELS } from "#crypto/stamps";
import { MAINTENANCE, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { foldCounts } from "#modules/core/widgets/queries/counts";
import { CERTIFICATE, LEAF, ORGANIZATION, READER, seedPeers } from "../bench/peers/seed";
import { seededId, THING } from "../bench/requests";
import { call, type Wish } from "../support/server/call";
import { sign } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { startServer, world } from "../support/server/world";

/** Postgres plans the first five calls of a prepared statement for their parameters, and keeps one plan for all where that costs no more. */
const CALLS = 8;

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let replica: ReturnType<typeof startServer>;
let sql: Pool;

/** Large enough that a plan for one page, one organization or one certificate looks better than a plan for any. */
beforeAll(async () => {
  postgres = await startPostgres();
  const { $client: migrating } = connectTo(postgres.url, MAINTENANCE);
  await migrate(migrating);
  await migrating.end();
  await seedPeers(postgres.url, { certificates: 3_000, notices: 10_000 });
  const db = connectTo(postgres.url, { max: 1 });
  sql = db.$client;
  replica = startServer({ ...world.config, databaseUrl: postgres.url }, { db });
  replica.deps.stamps.trust(ALL_LEVELS); // no server wrote what stands there
}, 120_000);
afterAll(async () => {
  await replica.server.stop(true);
  await sql.end();
  await postgres.stop();
});

test("every statement of a request that comes often is planned once", async () => {
  const token = await sign({ sub: READER });
  const gateway = { "x-organization-id": ORGANIZATION, "x-organization-role": "ORG_ADMIN" };
  const send = async (method: string, path: string, wish: Wish) => {
    const { status, text } = await call(method, path, { url: replica.url, ...wish });
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
  };
  const asUser = (path: string, method = "GET", body?: object) => send(method, path, { token, ...(body && { body }) });
  const inside = (path: string, method = "GET", body?: object) =>
    send(method, `/organizations/${ORGANIZATION}${path}`, { headers: gateway, ...(body && { body }) });
  const aThing = (n: number) => seededId(String(Number(THING) + n));
  const system = `system-${THING}`;

  for (let n = 0; n < CALLS; n++) {
    await inside("/certs/monitoring/top-expiring");
    await asUser("/users/me/notifications/inbox");
    await asUser(`/users/me/notifications/inbox?page=${n}&limit=50`);
    await asUser("/users/me/notifications/inbox?unread=true");
    await asUser("/users/me/notifications/examples", "POST", {});
    await asUser(`/portal/organizations/${ORGANIZATION}/certificates/${LEAF}`);
    await inside("/certificates");
    await inside("/certificates?status=active&limit=5");
    const assignment = { applicationId: "mail", certificateId: CERTIFICATE, trustStoreType: "linux_update_ca_certificates", config: { alias: `plan-${n}` } };
    await inside(`/agents/${aThing(n)}/assignments`, "POST", assignment);
    await inside(`/agents/${aThing(n)}/assignments/${aThing(n)}`, "PATCH", { applicationId: `mail-${n}` });
    await inside(`/agents/${aThing(n)}/assignments/${aThing(n)}`, "PATCH", { config: { alias: `moved-${n}` } });
    const samples = Array.from({ length: 10 }, (_, index) => ({
      metric: `accuracy-${n}`,
      value: 1,
      recordedAt: new Date(Date.now() - index * 1_000).toISOString(),
    }));
    await inside("/ai-governance/ingest/metrics", "POST", { system, samples });
    await inside(`/ai-governance/metrics?system=${system}&metric=accuracy-${n}`);
  }
  const statements = await sql<{ statement: string; planned: boolean }[]>`
    select statement, generic_plans > 0 as planned from pg_prepared_statements
    where generic_plans + custom_plans >= ${CALLS} and statement ~ '(select|insert|update)' and statement !~ 'revoked_tokens'`; // that one comes by time
  expect(statements.filter((each) => !each.planned).map((each) => each.statement)).toEqual([]);
  expect(statements.length).toBeGreaterThanOrEqual(12);
}, 120_000);

test("the job that adds changes to the counts is planned for the queue as it is, not as it was at earlier turns", async () => {
  for (let turn = 0; turn < CALLS; turn++) await foldCounts(sql);
  const kept = await sql`
    select from pg_prepared_statements where generic_plans > 0 and statement ~ 'with taken as .*certificate_changes' and statement !~ 'pg_prepared_statements'`;
  expect([...kept]).toEqual([]);
});
