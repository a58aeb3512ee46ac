import { join } from "node:path";
import { createKeyring } from "#crypto/keyring";
import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { trustForAdministrator } from "#maintenance/stamping";
import { findDueIssuer, findIssuerStanding, takeDue } from "#modules/issuance/renewals/queries/review";
import { startPebble } from "../support/issuance/pebble";
import { cpuOf } from "./cpu";
import { inDatabase, type Workplace } from "./database";
import { seedIssuance } from "./issuance-seed";
import { median } from "./measure";
import { environmentOf, startCertitude, stopAll } from "./processes";
import { seed } from "./seed";

const HELP = `bun run bench:renewals [--quick] [--only=choose|internal|pebble]

What do renewals cost? First, how long it takes to choose the 150 of an issuer that are due first, of 1,000,000 certificates in three organizations
of which 10,000 are due each day, next to the bare statement that reads as many rows by the index. Then 10,000 that are due on one day, with the
jobs of 8 servers in two processes, issued by an authority of the organization, and 1,000 by Pebble, which validates nothing: orders a second, and
CPU for each order of ours, of Postgres and of Pebble. Needs a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes databases
of its own there and drops them.

  --quick   50,000, 500 and 100`;

const IS_QUICK = Bun.argv.includes("--quick");
const ONLY = Bun.argv.find((each) => each.startsWith("--only="))?.slice("--only=".length);
const ALL = IS_QUICK ? 50_000 : 1_000_000;
const DUE = { internal: IS_QUICK ? 500 : 10_000, pebble: IS_QUICK ? 100 : 1_000 };
const [PROCESSES, SERVERS_EACH] = [2, 4];
const AT_ONCE = 150;
const TURNS = 21;
const DAY_MS = 86_400_000;
const IDLE_SECONDS = 5;

if (Bun.argv.includes("--help")) console.info(HELP);
else {
  if (ONLY === undefined || ONLY === "choose") await inDatabase("renewals", choose);
  if (ONLY === undefined || ONLY === "internal") await inDatabase("renewed", renewByAuthority);
  if (ONLY === undefined || ONLY === "pebble") await inDatabase("renewed", renewByPebble);
}

async function choose({ url }: Workplace) {
  const [organization] = await seedIssuance(url, [ALL * 0.8, ALL * 0.15, ALL * 0.05]);
  if (!organization) throw new Error("there is no organization");
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const now = new Date(Date.now() + DAY_MS);
  const of = { organizationId: organization.id, issuerId: organization.issuerIds[0] ?? "" };
  const [{ count = 0 } = {}] = await sql<
    { count: number }[]
  >`select count(*)::int as count from renewals where look_at <= ${now.toISOString()} and state <> 'issued'`;
  const chosen: number[] = [];
  const bare: number[] = [];
  for (let turn = 0; turn < TURNS; turn++) {
    chosen.push(
      await time(async () => {
        await findDueIssuer(sql, [], now);
        await sql.begin(async (tx) => {
          await findIssuerStanding(tx, of);
          expectAll(await takeDue(tx, of, AT_ONCE, now));
        });
      }),
    );
    bare.push(
      await time(() =>
        sql.begin(async (tx) =>
          expectAll(
            await tx`
      select certificate_id from renewals where organization_id = ${of.organizationId} and issuer_id = ${of.issuerId} and look_at <= ${now.toISOString()} and state <> 'issued'
      order by look_at limit ${AT_ONCE} for update skip locked`,
          ),
        ),
      ),
    );
  }
  const nothing = await time(() => findDueIssuer(sql, [], new Date(0)));
  print(`${ALL} certificates, of which ${count} are due`, "");
  print(`choosing ${AT_ONCE}, with all that is decided by`, `${median(chosen).toFixed(1)} ms`);
  print("bare: the same rows by the index", `${median(bare).toFixed(1)} ms; … / bare ${(median(chosen) / median(bare)).toFixed(1)}`);
  print("a look while nothing is due", `${nothing.toFixed(1)} ms`);
  await sql.end();
}

function expectAll(rows: readonly unknown[]) {
  if (rows.length < AT_ONCE && !IS_QUICK) throw new Error(`${rows.length} renewals were chosen`);
}

async function time(work: () => Promise<unknown>) {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

type Post = (path: string, body: object) => Promise<{ id: string; issuing?: { id: string } }>;

function renewByAuthority(workplace: Workplace) {
  const authority = { subject: { commonName: "Bench" }, keyAlgorithm: "ecdsa-p256", lifetimeDays: 3_650 };
  async function createIssuer(post: Post) {
    const { issuing } = await post("/authorities", {
      kind: "root",
      name: "Root",
      ...authority,
      issuing: { name: "Issuing", ...authority, lifetimeDays: 1_000 },
    });
    return post("/issuers", { kind: "internal", name: "Bench", config: { authorityId: issuing?.id } });
  }
  return renew(workplace, { title: "an authority of the organization", due: DUE.internal, createIssuer });
}

async function renewByPebble(workplace: Workplace) {
  const pebble = await startPebble({ isAlwaysValid: true });
  const { directoryUrl, caBundlePem } = pebble;
  const config = { directoryUrl, caBundlePem, contact: [], termsOfServiceAgreed: true, challenges: [{ type: "http-01" }] };
  try {
    await renew(workplace, {
      title: "Pebble",
      due: DUE.pebble,
      pid: pebble.pid,
      createIssuer: (post) => post("/issuers", { kind: "acme", name: "Bench", config }),
    });
  } finally {
    await pebble.stop();
  }
}

type Renewing = { title: string; due: number; pid?: number; createIssuer: (post: Post) => Promise<{ id: string }> };

async function renew({ url, directory }: Workplace, { title, due, pid, createIssuer }: Renewing) {
  const [organization] = await seed(url, [due]);
  if (!organization) throw new Error("there is no organization");
  const environment = { DATABASE_URL: `${url}?application_name=renewing`, DATA_DIR: directory, LOG_LEVEL: "error", ALLOW_PRIVATE_TARGETS: "true" };
  const server = await startCertitude(environment);
  const issuer = await createIssuer((path, body) => ask(`${server}/organizations/${organization.id}${path}`, organization.id, body));
  await stopAll();
  const sql = connectDatabase(url, MAINTENANCE).$client;
  await lookAfter(sql, organization.id, issuer.id);
  await trustForAdministrator(sql, createKeyring([Buffer.alloc(32)]), () => {}); // what was written here is taken as the servers' own
  const runners = await Promise.all(Array.from({ length: PROCESSES }, () => startRunners(environment)));
  const backends = async () => (await sql<{ pid: number }[]>`select pid from pg_stat_activity where application_name = 'renewing'`).map((each) => each.pid);
  const cpu = async () => Promise.all([runners.map((each) => each.pid), await backends(), pid === undefined ? [] : [pid]].map(cpuOf));
  const count = async (state: string) => (await sql<{ count: number }[]>`select count(*)::int as count from renewals where state = ${state}`)[0]?.count ?? 0;
  const resting = await cpu();
  await Bun.sleep(IDLE_SECONDS * 1_000);
  const before = await cpu();
  const idle = ((before[0] ?? 0) - (resting[0] ?? 0)) / IDLE_SECONDS;
  print(`CPU of ${PROCESSES * SERVERS_EACH} servers while nothing is due`, `${(idle * 1_000).toFixed(0)} ms a second, which is part of what follows`);
  const startedAt = performance.now();
  await sql`update renewals set look_at = now()`;
  while ((await count("renewed")) < due) await Bun.sleep(250);
  const seconds = (performance.now() - startedAt) / 1_000;
  const [ours = 0, postgres = 0, authority = 0] = (await cpu()).map((each, n) => ((each - (before[n] ?? 0)) / due) * 1_000);
  const [{ orders = 0, calls = 0 } = {}] = await sql<{ orders: number; calls: number }[]>`
    select (select count(*)::int from certificate_requests where replaces is not null) as orders, (select xact_commit::int from pg_stat_database where datname = current_database()) as calls`;
  print(
    `${due} renewals by ${title}`,
    `${seconds.toFixed(1)} s, ${(due / seconds).toFixed(0)} a second; ${orders} orders, ${(calls / due).toFixed(1)} transactions for each`,
  );
  print(
    "CPU for each order",
    `${ours.toFixed(1)} ms of ours, ${postgres.toFixed(1)} of Postgres${pid === undefined ? "" : `, ${authority.toFixed(1)} of the CA; ours / CA ${(ours / authority).toFixed(1)}`}`,
  );
  for (const each of runners) each.stdin.end();
  await Promise.all(runners.map((each) => each.exited));
  await sql.end();
}

/** An issuer that has issued every certificate, of which none is looked at yet. */
async function lookAfter(sql: Pool, organizationId: string, issuerId: string) {
  await sql`delete from assignments`;
  await sql`alter table certificates disable trigger user`;
  await sql`update certificates set status = 'active', revoked_at = null, revocation_reason = null, not_after = now() + interval '15 days' where common_name <> 'Bench'`;
  await sql`alter table certificates enable trigger user`;
  await sql`
    insert into certificate_requests (organization_id, id, issuer_id, names, names_hash, key_algorithm, key_location, auto_renew, status, certificate_id, created_by, ended_at, search)
    select organization_id, id, ${issuerId}, jsonb_build_array(jsonb_build_object('type', 'dns', 'value', id || '.example.org')), encode(sha256(id::text::bytea), 'hex'), 'ecdsa-p256', 'server', true, 'issued',
      id, '{"type": "server"}', now(), array_to_tsvector(array[organization_id::text, id || '.example.org'])
    from certificates where organization_id = ${organizationId} and common_name <> 'Bench'`;
  await sql`
    insert into renewals (organization_id, certificate_id, issuer_id, template_id, is_planned, renew_at, late_at)
    select organization_id, id, issuer_id, id, true, now() - interval '1 hour', now() + interval '15 days' from certificate_requests`;
  await sql`vacuum (analyze) renewals, certificate_requests`;
}

/** A process with the jobs of some servers, once they run. */
async function startRunners(environment: Record<string, string>) {
  const command = [process.execPath, join(import.meta.dir, "job-runners.ts"), `${SERVERS_EACH}`];
  const child = Bun.spawn(command, { env: environmentOf(environment), stdin: "pipe", stdout: "pipe", stderr: "inherit" });
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) if (text.includes("ready")) break;
  return child;
}

async function ask(address: string, organizationId: string, body: object) {
  const headers = { "content-type": "application/json", "x-organization-id": organizationId, "x-organization-role": "ORG_ADMIN" };
  const answer = await fetch(address, { method: "POST", headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${address} was answered ${answer.status}: ${await answer.text()}`);
  return (await answer.json()) as { id: string; issuing?: { id: string } };
}

function print(title: string, text: string) {
  console.info(`${title.padEnd(60)} ${text}`);
}
