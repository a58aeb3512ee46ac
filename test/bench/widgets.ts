import postgres from "postgres";
import { connectDatabase, type Pool, type Sql } from "#db/connect";
import { compileSelector } from "#labels/selector";
import { countByDaysLeft } from "#modules/certificates/certificates/queries/counts";
import { readData } from "#modules/core/widgets/queries/data";
import { readSettings } from "#modules/core/widgets/rules/grid";
import type { Kind } from "#modules/core/widgets/rules/kinds";
import { countHealth, countStates, listDeployments, summarizeFleet } from "#modules/fleet/deployments/queries";
import { HEALTH } from "#modules/fleet/deployments/rules";
import { readInbox } from "#modules/notifications/inbox/queries";
import { USER } from "./seed";
import { capture, explain } from "./statement";
import { seedWidgets } from "./widgets-seed";

const HELP = `bun run bench:widgets [--quick] [--reuse]

How long do the widgets of one large organization take, a scrape of /metrics, its fleet's summary, its lists of deployments and
a page far down an inbox? In ms, and as a part of what counting the certificates takes: select count(*). It makes a database of its own on TEST_DATABASE_URL, or the
local Postgres, and drops it at the end. The size is 1,000,000 certificates, 50,000 agents, 200,000 assignments, 1,000,000 notices.

  --quick   a fiftieth of that
  --reuse   keeps the seeded database for the next run with --reuse`;

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const flag = (name: string) => Bun.argv.includes(name);
const DATABASE = `certitude_bench_widgets${flag("--quick") ? "_quick" : ""}`;
const ROUNDS = 7;
const share = flag("--quick") ? 50 : 1;
const size = { certificates: 1_000_000 / share, agents: 50_000 / share, assignmentsEach: 4, notices: 1_000_000 / share };

const WIDGETS: [name: string, Kind, settings: Record<string, unknown>][] = [
  ["timeline", "expiring_certificates_timeline", {}],
  ["timeline, 825 days", "expiring_certificates_timeline", { horizonDays: 825, bucket: "day" }],
  ["timeline of an issuer", "expiring_certificates_timeline", { issuer: "ISRG" }],
  ["timeline of all issuers, 825 days", "expiring_certificates_timeline", { issuer: "=", horizonDays: 825, bucket: "day" }],
  ["top expiring", "top_expiring_certificates", {}],
  ["by issuer", "certificates_by_issuer", {}],
  ["by issuer, expired too", "certificates_by_issuer", { includeExpired: true }],
  ["by key algorithm", "key_algorithm_distribution", {}],
  ["by signature algorithm", "key_algorithm_distribution", { dimension: "signature" }],
  ["agent health", "agent_health", {}],
  ["agent health by label", "agent_health", { groupBy: "label" }],
  ["drift", "assignment_drift", {}],
  ["drift of labels", "assignment_drift", { agentLabels: ["env=prod", "rack"] }],
  ["coverage", "trust_store_coverage", {}],
  ["coverage by category", "trust_store_coverage", { rows: "category", onlyEnabled: false }],
];

async function main() {
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  const url = Object.assign(new URL(ADMIN_URL), { pathname: `/${DATABASE}` }).href;
  try {
    const [found] = await admin`select from pg_database where datname = ${DATABASE}`;
    if (!found || !flag("--reuse")) {
      await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
      await admin.unsafe(`create database ${DATABASE}`);
      await seedWidgets(url, size);
    }
    const sql = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 }).$client;
    await bench(sql, url);
    await sql.end();
  } finally {
    if (!flag("--reuse")) await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin.end();
  }
}

async function bench(sql: Pool, url: string) {
  const [organization] = await sql<{ id: string }[]>`select id from organizations limit 1`;
  const ask = { organizationId: organization?.id ?? "", userId: undefined, now: new Date() };
  const whole = await time(() => sql`select count(*) from certificates`);
  console.info(`median of ${ROUNDS}, in ms, and as a part of the ${whole.toFixed(1)} ms of select count(*) from certificates\n`);
  const print = async (name: string, read: () => Promise<unknown>) => {
    const took = await time(read);
    console.info(name.padEnd(36), took.toFixed(1).padStart(8), (took / whole).toFixed(3).padStart(8));
  };
  for (const [name, kind, wish] of WIDGETS) {
    const settings = readSettings(kind, wish);
    if ("invalid" in settings) throw new Error(settings.invalid);
    await print(name, () => readData(sql, ask, kind, settings.values));
  }
  await print("/metrics", () => countByDaysLeft(sql, ask.now));
  const printIndexed = async (name: string, read: (sql: Sql) => Promise<unknown>) => {
    await print(name, () => read(sql));
    const explained = await explain(url, await capture(url, read));
    if (/(Seq|Bitmap Heap) Scan on assignments/.test(explained)) throw new Error(`${name} reads more than an index: ${explained}`);
  };
  await benchFleet(sql, ask, printIndexed);
  for (const page of [0, Math.floor(size.notices / 20)]) await print(`unread page ${page}`, () => readInbox(sql, USER, { page, limit: 10, unread: true }));
}

type Print = (name: string, read: (sql: Sql) => Promise<unknown>) => Promise<void>;

/** What is asked about a whole fleet; lists are read from their beginning, and from their middle. All of it reads assignments through an index. */
async function benchFleet(sql: Pool, { organizationId, now }: { organizationId: string; now: Date }, print: Print) {
  await print("fleet summary", (sql) => summarizeFleet(sql, organizationId, { ...HEALTH, now }, false));
  await print("gauge of deployments", countStates);
  await print("gauge of agents", (sql) => countHealth(sql, now));
  const [middle] = await sql<{ agentId: string; id: string; certificateId: string }[]>`
    select agent_id as "agentId", id, certificate_id as "certificateId" from assignments order by agent_id offset ${(size.agents * size.assignmentsEach) / 2} limit 1`;
  if (!middle) throw new Error("there are no assignments");
  const { agentId, certificateId } = middle;
  const lists: [name: string, filter: Parameters<typeof listDeployments>[2], selector?: string][] = [
    ["all", {}],
    ["failed", { state: "failed" }],
    ["pending", { state: "pending" }],
    ["drifted, of which there are none", { state: "drifted" }],
    ["of a store", { store: "linux_update_ca_certificates" }],
    ["of a store, failed", { store: "linux_update_ca_certificates", state: "failed" }],
    ["of a certificate", { certificateId }],
    ["of an agent", { agentId }],
    ["of labels", {}, "env=prod"],
    ["of a rack", {}, "rack=r700"],
    ["of a rack, failed", { state: "failed" }, "rack=r700"],
  ];
  for (const [name, filter, selector] of lists) {
    const path = selector === undefined ? undefined : pathOf(selector);
    const list = (after: [string, string] | undefined) => (sql: Sql) => listDeployments(sql, organizationId, filter, path, { limit: 50, after });
    await print(`deployments ${name}`, list(undefined));
    await print("… from the middle", list([agentId, middle.id]));
  }
}

function pathOf(selector: string) {
  const compiled = compileSelector(selector);
  if ("fault" in compiled) throw new Error(compiled.fault);
  return compiled.path;
}

async function time(read: () => Promise<unknown>) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now();
    await read();
    times.push(performance.now() - startedAt);
  }
  return times.toSorted((one, other) => one - other)[Math.floor(ROUNDS / 2)] ?? 0;
}

if (flag("--help")) console.info(HELP);
else await main();
