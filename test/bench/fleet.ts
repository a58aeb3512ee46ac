import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import postgres from "postgres";
import { scripts } from "../../package.json";
import { createMeter } from "./cpu";
import { afterFiveMinutes, assertUnchanged, capturePoll, inPgbench, learnTags, overHttp } from "./fleet-poll";
import { seedFleet } from "./fleet-seed";
import { compare, run } from "./measure";
import { pidOf, start, stopAll } from "./processes";
import { explain } from "./statement";

const HELP = `bun run bench:fleet [--quick]

What does a fleet cost while there is no news? 50,000 agents with three assignments each ask what they must install, with
the tag that they know: how many such polls a second, next to their one SQL statement in pgbench and behind a bare
Bun.serve handler, and what part of one core the fleet takes when each agent asks once a minute.
Needs wrk, pgbench and a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own
there and drops it at the end. Callers, servers and Postgres share this machine's cores, so read the ratios.

  --quick   5,000 agents, in under a minute`;

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const FLEET = 50_000;
const CALLERS = 16;
const plan = Bun.argv.includes("--quick") ? { agents: 5_000, rounds: 2, seconds: 1 } : { agents: FLEET, rounds: 7, seconds: 2 };
const DATABASE = "certitude_bench_fleet";
const url = Object.assign(new URL(ADMIN_URL), { pathname: `/${DATABASE}` }).href;

if (Bun.argv.includes("--help")) console.info(HELP);
else await main();

async function main() {
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  const sql = postgres(url, { max: 1 });
  const directory = mkdtempSync(join(tmpdir(), "certitude-bench-"));
  try {
    await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin.unsafe(`create database ${DATABASE}`);
    await seedFleet(url, plan.agents);
    await bench(sql, directory);
  } finally {
    await stopAll();
    await sql.end();
    await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin.end();
    rmSync(directory, { recursive: true });
  }
}

async function bench(sql: postgres.Sql, directory: string) {
  const program = join(directory, "certitude");
  await run(scripts.build.replace("dist/certitude", program).split(" "));
  const server = await startServer(program);
  const bare = await start((port) => ({ command: [process.execPath, join(import.meta.dir, "fleet-bare.ts"), `${port}`, url] }));
  const known = join(directory, "known");
  await Bun.write(known, await learnTags(server, plan.agents));

  const meter = createMeter(sql, { pid: pidOf(server), application: "certitude" }, plan.seconds);
  const contestants = {
    server: afterFiveMinutes(sql, meter.measured(await overHttp(server, known, plan.seconds))),
    bare: afterFiveMinutes(sql, await overHttp(bare, known, plan.seconds)),
    pgbench: afterFiveMinutes(sql, inPgbench(url, plan.agents, join(directory, "poll.sql"), plan.seconds)),
  };
  printRates(await compare(contestants, CALLERS, plan.rounds));
  await assertUnchanged(server, plan.agents);
  printShares(meter.perRequest());
  await printPlan();
}

function startServer(program: string) {
  const secrets = { JWT_SECRET: "a secret of the benchmark, long enough to sign", SECRETS_KEY: Buffer.alloc(32).toString("base64") };
  return start((port) => ({ command: [program, "serve"], environment: { DATABASE_URL: url, PORT: `${port}`, RATE_LIMITS: "off", ...secrets } }));
}

function printRates(rates: Record<"server" | "bare" | "pgbench", number>) {
  console.info(`${count(plan.agents)} agents, ${CALLERS} callers, medians of ${plan.rounds} rounds of ${plan.seconds} s, contestants in turn\n`);
  printRow("", "polls/s", "server/this");
  for (const [name, rate] of Object.entries(rates)) printRow(name, count(rate), (rates.server / rate).toFixed(2));
}

function printShares(perPoll: Record<"server" | "Postgres", number>) {
  console.info(`\n${count(FLEET)} agents that poll once a minute, ${count(FLEET / 60)} polls/s\n`);
  printRow("", "CPU µs/poll", "of one core");
  for (const [name, seconds] of Object.entries(perPoll)) printRow(name, count(seconds * 1e6), `${((seconds * FLEET * 100) / 60).toFixed(1)} %`);
}

async function printPlan() {
  const explained = await explain(url, await capturePoll(url));
  console.info(`\n${explained}`);
  if (/(Seq|Bitmap \w+) Scan/.test(explained)) throw new Error("a poll looks through more than indexes");
}

function count(number: number) {
  return Math.round(number).toLocaleString("en");
}

function printRow(...cells: string[]) {
  console.info(cells.map((cell) => cell.padStart(15)).join(""));
}
