import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { SignJWT } from "jose";
import postgres from "postgres";
import { createKeyring } from "#crypto/keyring";
import { createIngestKey } from "#modules/governance/ingest-keys/queries";
import { scripts } from "../../package.json";
import { type Contestant, compare, run } from "./measure";
import type { Bare } from "./operations-bare";
import { caller, database, looped } from "./operations-measure";
import { type Operation, planOperations } from "./operations-plan";
import { ORGANIZATION, READER, seedOperations } from "./operations-seed";
import { captureWork, open, seededId, THING, type Work } from "./operations-sql";
import { start, stopAll } from "./processes";

const HELP = `bun run bench:operations [--quick] [operation ...]

How fast are the operations beside 16 and 17, next to their SQL in pgbench and behind a bare Bun.serve handler?
Needs wrk, pgbench and a Postgres: TEST_DATABASE_URL, or the local one. It makes a database of its own there and drops
it at the end. Callers, servers and Postgres share this machine's cores, so read the ratios. Ids and values differ from
request to request; the parameters of 10b fit into no pgbench script, so that a loop of postgres.js takes its place.

  --quick      one round with 16 callers, in a minute or two
  operation    only these, such as: 3 10a 19`;

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const JWT_SECRET = "a secret of the benchmark, long enough to sign";
const SECRETS_KEY = Buffer.alloc(32);
const plan = Bun.argv.includes("--quick")
  ? { notices: 100_000, callers: [16], callersOfLarge: [1], rounds: 1, seconds: 1, secondsOfLarge: 2 }
  : { notices: 1_000_000, callers: [1, 16, 64], callersOfLarge: [1, 4], rounds: 3, seconds: 1, secondsOfLarge: 2 };
/** Enough that nobody asks for more than ten examples a minute, and fewer than a server remembers. */
const TOKENS = 8_000;
const DATABASE = "certitude_bench_operations";
const url = Object.assign(new URL(ADMIN_URL), { pathname: `/${DATABASE}` }).href;

if (Bun.argv.includes("--help")) console.info(HELP);
else await main();

async function main() {
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  const directory = mkdtempSync(join(tmpdir(), "certitude-bench-"));
  try {
    await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin.unsafe(`create database ${DATABASE}`);
    await seedOperations(url, plan.notices);
    await bench(directory);
  } finally {
    await stopAll();
    await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin.end();
    rmSync(directory, { recursive: true });
  }
}

async function bench(directory: string) {
  const program = join(directory, "certitude");
  await run(scripts.build.replace("dist/certitude", program).split(" "));
  const tokens = await Promise.all(Array.from({ length: TOKENS }, (_, index) => signToken(seededId(String(Number(THING) + index)))));
  const operations = planOperations({ ingestKey: await makeIngestKey(), tokens, reader: await signToken(READER) });
  const inOrder = Object.entries(operations).sort(([one], [other]) => Number.parseInt(one, 10) - Number.parseInt(other, 10));
  const chosen = inOrder.filter(([number], _, all) => all.every(([each]) => !Bun.argv.includes(each)) || Bun.argv.includes(number));

  const servers = { silent: await startServer(program, "silent"), info: await startServer(program, "info") };
  const routes: Record<string, Work | string> = {};
  for (const [number, each] of chosen) routes[number] = "fixed" in each ? each.fixed : await captureWork(url, each.spread, each.query);
  const task = join(directory, "bare.json");
  const bare = await start((port) => {
    writeFileSync(task, JSON.stringify({ port, url, routes } satisfies Bare));
    return { command: [process.execPath, join(import.meta.dir, "operations-bare.ts"), task] };
  });
  if (chosen.some(([, each]) => each.call.tokens)) for (const server of Object.values(servers)) await introduce(server, tokens);

  console.info(`medians of ${plan.rounds} rounds, contestants in turn\n`);
  printRow("operation", "callers", "silent/bare", "info/bare", "silent/pgbench", "bare/pgbench", "silent req/s", "info req/s", "bare req/s", "pgbench tx/s");
  for (const [number, operation] of chosen) await measure(number, operation, { directory, task, bare, ...servers }, routes[number]);
}

type Stage = { directory: string; task: string; bare: string; silent: string; info: string };

async function measure(number: string, operation: Operation, { directory, task, bare, ...servers }: Stage, work: Work | string | undefined) {
  const { call, spread, isLarge = false, isLooped = false } = operation;
  const seconds = isLarge ? plan.secondsOfLarge : plan.seconds;
  const against = (name: string, origin: string, path = call.path) => caller(directory, `${number}-${name}`, origin, { ...call, path }, spread, seconds);
  const contestants: Record<string, Contestant> = {
    bare: await against("bare", bare, `/${number}`),
    silent: await against("silent", servers.silent),
    info: await against("info", servers.info),
  };
  if (typeof work === "object") contestants.sql = isLooped ? looped(task, number, seconds) : database(url, join(directory, `${number}.sql`), work, seconds);
  for (const callers of isLarge ? plan.callersOfLarge : plan.callers) {
    const { bare = 0, silent = 0, info = 0, sql } = await compare(contestants, callers, plan.rounds);
    const ratios = [silent / bare, info / bare, sql ? silent / sql : undefined, sql ? bare / sql : undefined].map((ratio) => ratio?.toFixed(2) ?? "-");
    const rates = [silent, info, bare, sql].map((rate) => (rate === undefined ? "-" : rate.toLocaleString("en", { maximumSignificantDigits: 4 })));
    printRow(`${number} ${operation.name}`, callers, ...ratios, ...rates);
  }
}

/** A server verifies a token once: here, so that it does not while it is measured. */
async function introduce(server: string, tokens: string[]) {
  const left = tokens.values();
  const introduceNext = async () => {
    for (const token of left) await (await fetch(`${server}/users/me/notifications/inbox`, { headers: { authorization: `Bearer ${token}` } })).text();
  };
  await Promise.all(Array.from({ length: 32 }, introduceNext));
}

async function makeIngestKey() {
  const sql = open(url, { max: 1 });
  const made = await createIngestKey(
    sql,
    createKeyring([SECRETS_KEY]),
    { organizationId: ORGANIZATION, actor: { type: "command-line" }, requestId: null },
    "bench",
  );
  await sql.end();
  return made?.key ?? "";
}

function startServer(program: string, level: string) {
  const environment = {
    DATABASE_URL: url,
    LOG_LEVEL: level,
    RATE_LIMITS: "off",
    TRUSTED_GATEWAYS: "127.0.0.1",
    JWT_SECRET,
    SECRETS_KEY: SECRETS_KEY.toString("base64"),
  };
  return start((port) => ({ command: [program, "serve"], environment: { ...environment, PORT: `${port}` } }));
}

function signToken(user: string) {
  return new SignJWT({ sub: user }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h").sign(Buffer.from(JWT_SECRET));
}

function printRow(first: string | number, ...cells: (string | number)[]) {
  console.info(String(first).padEnd(20) + cells.map((cell) => String(cell).padStart(15)).join(""));
}
