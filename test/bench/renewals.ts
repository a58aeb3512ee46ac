import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { findDueIssuer, takeDue } from "#modules/issuance/renewals/queries/look";
import { cpuOf } from "./cpu";
import { inDatabase, type Workplace } from "./database";
import { median } from "./measure";
import { pidOf, startCertitude } from "./processes";
import { seed } from "./seed";

const HELP = `bun run bench:renewals [--quick]

What do renewals cost? First, how long it takes to choose the 150 that are due first out of 1,000,000, next to the bare statement
that reads as many rows by the index. Then 10,000 that are due on one day, issued by an authority of the organization, with 8
servers that run jobs: orders a second, and CPU for each of the servers and of Postgres. Needs a Postgres on this machine:
TEST_DATABASE_URL, or the local one. It makes databases of its own there and drops them.

  --quick   50,000 and 500`;

const IS_QUICK = Bun.argv.includes("--quick");
const ALL = IS_QUICK ? 50_000 : 1_000_000;
const DUE = IS_QUICK ? 500 : 10_000;
const SERVERS = 8;
const AT_ONCE = 150;
const TURNS = 21;

if (Bun.argv.includes("--help")) console.info(HELP);
else {
  await inDatabase("renewals", choose);
  await inDatabase("renewed", renew);
}

/** Certificates of an issuer, due within sixty days of `from`; those of the first day have the requests that they were issued by, or all of them. */
async function lookAfter(sql: Pool, organizationId: string, issuerId: string, from: string, isAll: boolean) {
  await sql`
    insert into certificate_requests (organization_id, id, issuer_id, names, names_hash, key_algorithm, key_location, auto_renew, status, certificate_id, created_by, ended_at, search)
    select organization_id, id, ${issuerId}, jsonb_build_array(jsonb_build_object('type', 'dns', 'value', id || '.example.org')), encode(sha256(id::text::bytea), 'hex'), 'ecdsa-p256', 'server', true, 'issued',
      id, '{"type": "server"}', now(), array_to_tsvector(array[organization_id::text, id || '.example.org'])
    from certificates where organization_id = ${organizationId} and (${isAll} or abs(hashtext(id::text)) % 5184000 < 86400)`;
  await sql`
    insert into renewals (organization_id, certificate_id, issuer_id, template_id, is_planned, renew_at, late_at, look_at)
    select organization_id, id, ${issuerId}, id, true, moment, moment + interval '15 days', moment
    from (select *, ${from}::timestamptz + (abs(hashtext(id::text)) % 5184000) * interval '1 second' as moment from certificates where organization_id = ${organizationId}) as c`;
  await sql`vacuum (analyze) renewals, certificate_requests`;
}

async function choose({ url }: Workplace) {
  const [organization] = await seed(url, [ALL]);
  if (!organization) throw new Error("there is no organization");
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const issuerId = crypto.randomUUID();
  const of = { organizationId: organization.id, issuerId };
  await lookAfter(sql, organization.id, issuerId, new Date().toISOString(), false);
  const now = new Date(Date.now() + 86_400_000);
  const [{ count = 0 } = {}] = await sql<{ count: number }[]>`select count(*)::int as count from renewals where look_at <= ${now.toISOString()}`;
  console.info(`${ALL} renewals, of which ${count} are due`);
  const chosen: number[] = [];
  const bare: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    chosen.push(
      await time(async () => {
        await findDueIssuer(sql, [], now);
        await sql.begin(async (tx) => expectAll(await takeDue(tx, of, AT_ONCE, now)));
      }),
    );
    bare.push(
      await time(() =>
        sql.begin(async (tx) =>
          expectAll(
            await tx`
      select certificate_id from renewals where organization_id = ${of.organizationId} and issuer_id = ${issuerId} and look_at <= ${now.toISOString()} and state <> 'issued'
      order by look_at limit ${AT_ONCE} for update skip locked`,
          ),
        ),
      ),
    );
  }
  const nothing = await time(() => findDueIssuer(sql, [], new Date(0)));
  console.info(`choosing ${AT_ONCE}, with all that is decided by   ${median(chosen).toFixed(1)} ms`);
  console.info(`bare: the same rows by the index          ${median(bare).toFixed(1)} ms; … / bare ${(median(chosen) / median(bare)).toFixed(1)}`);
  console.info(`a look while nothing is due               ${nothing.toFixed(1)} ms`);
  await sql.end();
}

function expectAll(rows: readonly unknown[]) {
  if (rows.length !== AT_ONCE) throw new Error(`${rows.length} renewals were chosen`);
}

async function time(work: () => Promise<unknown>) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

async function renew({ url, directory }: Workplace) {
  const [organization] = await seed(url, [DUE]);
  if (!organization) throw new Error("there is no organization");
  const start = (n: number) => startCertitude({ DATABASE_URL: `${url}?application_name=renewing`, DATA_DIR: `${directory}/${n}`, LOG_LEVEL: "error" });
  const first = await start(0);
  const post = (path: string, body: object) => ask(`${first}/organizations/${organization.id}${path}`, organization.id, body);
  const authority = { subject: { commonName: "Bench" }, keyAlgorithm: "ecdsa-p256", lifetimeDays: 3_650 };
  const { issuing } = await post("/authorities", { kind: "root", name: "Root", ...authority, issuing: { name: "Issuing", ...authority, lifetimeDays: 1_000 } });
  const issuer = await post("/issuers", { kind: "internal", name: "Bench", config: { authorityId: issuing?.id } });
  const sql = connectDatabase(url, MAINTENANCE).$client;
  await sql`delete from assignments`;
  await lookAfter(sql, organization.id, issuer.id, new Date(0).toISOString(), true);
  await sql`update renewals set look_at = null`;
  const servers = [first];
  for (let n = 1; n < SERVERS; n++) servers.push(await start(n));
  const pids = servers.map(pidOf);
  const backends = async () => (await sql<{ pid: number }[]>`select pid from pg_stat_activity where application_name = 'renewing'`).map(({ pid }) => pid);
  const count = async (state: string) => (await sql<{ count: number }[]>`select count(*)::int as count from renewals where state = ${state}`)[0]?.count ?? 0;
  const cpu = async () => ({ servers: await cpuOf(pids), postgres: await cpuOf(await backends()) });
  const before = await cpu();
  const startedAt = performance.now();
  await sql`update renewals set look_at = now()`;
  while ((await count("renewed")) < DUE) await Bun.sleep(250);
  const seconds = (performance.now() - startedAt) / 1_000;
  const after = await cpu();
  const [{ orders = 0 } = {}] = await sql<{ orders: number }[]>`select count(*)::int as orders from certificate_requests where replaces is not null`;
  console.info(`${DUE} renewals by ${SERVERS} servers             ${seconds.toFixed(1)} s, ${(DUE / seconds).toFixed(0)} a second, ${orders} orders`);
  console.info(
    `CPU for each                              ${(((after.servers - before.servers) / DUE) * 1_000).toFixed(1)} ms of the servers, ${(((after.postgres - before.postgres) / DUE) * 1_000).toFixed(1)} ms of Postgres`,
  );
  await sql.end();
}

async function ask(address: string, organizationId: string, body: object) {
  const headers = { "content-type": "application/json", "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN" };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${address} was answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as { id: string; issuing?: { id: string } };
}
