import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT } from "jose";
import postgres from "postgres";
import { findDetailsForMember, listExpiring } from "#modules/certificates/certificates/queries/certificates";
import { scripts } from "../../package.json";
import { type Contestant, compare, http, pgbench, run } from "./measure";
import { start, stopAll } from "./processes";
import { type Organization, seed, USER } from "./seed";
import { capture, explain, type Statement } from "./statement";

const HELP = `bun run bench [--quick] [--reuse]

How fast are operations 16 (certificate details) and 17 (top expiring), next to the same SQL without the server?
Needs wrk (apt-get install wrk), pgbench and a Postgres: TEST_DATABASE_URL, or the local one. It makes a database of its
own there and drops it at the end. Callers, servers and Postgres share this machine's cores, so read the ratios.
Operation 17 is called as a trusted gateway does, with organization headers; 16 with a user's token.

  --quick   few rows, one concurrency, in under a minute
  --reuse   keeps the seeded database for the next run with --reuse`;

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const JWT_SECRET = "a secret of the benchmark, long enough to sign";
const QUICK = { sizes: [50_000, 10_000, 1_000], others: 50, concurrency: [16], rounds: 3, seconds: 1, warmUp: 3 };
const FULL = { sizes: [1_000_000, 100_000, 1_000], others: 500, concurrency: [1, 16, 64], rounds: 3, seconds: 2, warmUp: 10 };
const ORGANIZATIONS = 200;

const flag = (name: string) => Bun.argv.includes(name);
const plan = flag("--quick") ? QUICK : FULL;
const database = flag("--reuse") ? `certitude_bench_${plan.sizes[0]}` : "certitude_bench";
const url = Object.assign(new URL(ADMIN_URL), { pathname: `/${database}` }).href;

if (flag("--help")) console.info(HELP);
else await main();

async function main() {
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  const directory = mkdtempSync(join(tmpdir(), "certitude-bench-"));
  try {
    await bench(await prepareDatabase(admin), directory);
  } finally {
    await stopAll();
    if (!flag("--reuse")) await admin.unsafe(`drop database if exists ${database} with (force)`);
    await admin.end();
    rmSync(directory, { recursive: true });
  }
}

async function prepareDatabase(admin: postgres.Sql) {
  const kept = Bun.file(join(tmpdir(), `${database}.json`));
  const [found] = await admin`select 1 from pg_database where datname = ${database}`;
  if (found && (await kept.exists())) return (await kept.json()) as Organization[];
  const startedAt = performance.now();
  await admin.unsafe(`drop database if exists ${database} with (force)`);
  await admin.unsafe(`create database ${database}`);
  const organizations = await seed(url, [...plan.sizes, ...Array.from({ length: ORGANIZATIONS - plan.sizes.length }, () => plan.others)]);
  if (flag("--reuse")) await kept.write(JSON.stringify(organizations));
  const total = organizations.reduce((sum, each) => sum + each.size, 0);
  console.info(`${count(total)} certificates in ${ORGANIZATIONS} organizations, seeded in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  return organizations;
}

async function bench(organizations: Organization[], directory: string) {
  const [many, some, few] = organizations as [Organization, Organization, Organization];
  const statements = {
    17: await capture(url, (sql) => listExpiring(sql, some.id, 10, new Date())),
    16: await capture(url, (sql) => findDetailsForMember(sql, some.id, some.certificateId, { userId: USER }, new Date())),
  };
  const program = join(directory, "certitude");
  await run(scripts.build.replace("dist/certitude", program).split(" "));
  const servers = { bare: await startBare(statements), info: await startServer(program, "info"), silent: await startServer(program, "silent") };
  console.info(`medians of ${plan.rounds} rounds of ${plan.seconds} s, contestants in turn\n`);

  const script = join(directory, "statement.sql");
  const token = await signToken();
  const details = `/portal/organizations/${some.id}/certificates/${some.certificateId}`;
  const contestants = (operation: 16 | 17, path: string, headers: Record<string, string>) => (seconds: number) => ({
    pgbench: pgbench(url, statements[operation], script, seconds),
    bare: http(`${servers.bare}/${operation}`, headers, seconds),
    info: http(servers.info + path, headers, seconds),
    silent: http(servers.silent + path, headers, seconds),
  });
  printRow("operation", "callers", "server/bare", "silent/bare", "server/pgbench", "bare/pgbench", "server req/s", "bare req/s", "pgbench tx/s");
  await printRatios(17, contestants(17, expiring(some), gateway(some)));
  await printRatios(16, contestants(16, details, { authorization: `Bearer ${token}` }));

  const bySize = Object.fromEntries([few, some, many].map((each) => [count(each.size), http(servers.info + expiring(each), gateway(each), plan.seconds)]));
  const rates = await compare(bySize, 16, plan.rounds);
  const spread = Math.max(...Object.values(rates)) / Math.min(...Object.values(rates));
  const list = Object.entries(rates).map(([size, rate]) => `${size}: ${count(rate)} req/s`);
  console.info(`\noperation 17 by certificates in the organization: ${list.join(", ")}; fastest/slowest ${spread.toFixed(2)} (flat is under 1.3)`);
  for (const [operation, statement] of Object.entries(statements)) console.info(`\noperation ${operation}: ${await explain(url, statement)}`);
}

async function printRatios(operation: number, contestants: (seconds: number) => Record<"pgbench" | "bare" | "info" | "silent", Contestant>) {
  await compare(contestants(plan.warmUp), 16, 1); // the compiler of hot code needs seconds of load
  for (const callers of plan.concurrency) {
    const { pgbench, bare, info, silent } = await compare(contestants(plan.seconds), callers, plan.rounds);
    const ratios = [info / bare, silent / bare, info / pgbench, bare / pgbench].map((ratio) => ratio.toFixed(2));
    printRow(operation, callers, ...ratios, count(info), count(bare), count(pgbench));
  }
}

function startBare(statements: Record<number, Statement>) {
  return start((port) => ({ command: [process.execPath, join(import.meta.dir, "bare.ts"), JSON.stringify({ port, url, statements })] }));
}

function startServer(program: string, level: string) {
  const secrets = { JWT_SECRET, SECRETS_KEY: Buffer.alloc(32).toString("base64") };
  return start((port) => ({
    command: [program, "serve"],
    environment: { DATABASE_URL: url, PORT: `${port}`, LOG_LEVEL: level, RATE_LIMITS: "off", TRUSTED_GATEWAYS: "127.0.0.1", ...secrets },
  }));
}

function signToken() {
  return new SignJWT({ sub: USER }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h").sign(Buffer.from(JWT_SECRET));
}

function expiring({ id }: Organization) {
  return `/organizations/${id}/certs/monitoring/top-expiring`;
}

function gateway({ id }: Organization) {
  return { "x-organization-id": id, "x-organization-role": "ORG_MEMBER" };
}

function count(number: number) {
  return Math.round(number).toLocaleString("en");
}

function printRow(...cells: (string | number)[]) {
  console.info(cells.map((cell) => String(cell).padStart(15)).join(""));
}
