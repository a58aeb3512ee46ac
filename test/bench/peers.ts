import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { SignJWT } from "jose";
import postgres from "postgres";
import { createMeter } from "./cpu";
import { compare, run } from "./measure";
import { caller } from "./operations-measure";
import { GATEWAY, type Operation, planOperations } from "./peers/plan";
import { ORGANIZATION, READER, seedPeers } from "./peers/seed";
import { assertSameShape } from "./peers/shape";
import type { Task } from "./peers/work";
import { pidOf, start, stopAll } from "./processes";

const HELP = `bun run bench:peers [--quick] [--operations 17,4] [--source DIR] [--binary]

What does a request cost here, and what elsewhere? Operations of the interface, with 16 requests in flight, answered by this
server (with audit events, metrics and a log line), by a hand-written Bun.serve + Bun.sql, and by Fastify + pg on Node, which
do the same plain work on the same tables. Requests a second and CPU time per request, of the server and of Postgres.
Needs wrk, Node and a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own there
and drops it at the end. Callers, servers and Postgres share this machine's cores, so read the ratios.

  --quick        short rounds, in about two minutes
  --operations   only these, by their numbers
  --source DIR   measures the server of another checkout
  --binary       measures dist/certitude of that checkout`;

const { values: options } = parseArgs({
  args: Bun.argv.slice(2),
  options: { help: { type: "boolean" }, quick: { type: "boolean" }, operations: { type: "string" }, source: { type: "string" }, binary: { type: "boolean" } },
});
const source = resolve(options.source ?? join(import.meta.dir, "../.."));
const program = options.binary ? [join(source, "dist/certitude")] : [process.execPath, join(source, "src/main.ts")];
const plan = options.quick ? { rounds: 3, seconds: 1, warmUp: 2 } : { rounds: 7, seconds: 2, warmUp: 5 };
const SIZES = { certificates: 10_000, notices: 100_000 };
const CALLERS = 16;
const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const DATABASE = `certitude_bench_peers_${process.pid}`;
const url = Object.assign(new URL(ADMIN_URL), { pathname: `/${DATABASE}` }).href;
const JWT_SECRET = "a secret of the benchmark, long enough to sign";
/** Each with the name of its sessions in Postgres. */
const PEERS = { ours: "certitude", bun: "bun", fastify: "fastify" } as const;
type Peer = keyof typeof PEERS;

if (options.help) console.info(HELP);
else await main();

async function main() {
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  const directory = mkdtempSync(join(tmpdir(), "certitude-bench-"));
  try {
    await admin.unsafe(`create database ${DATABASE}`);
    await bench(directory);
  } finally {
    await stopAll();
    await admin.unsafe(`drop database if exists ${DATABASE} with (force)`);
    await admin.end();
    rmSync(directory, { recursive: true });
  }
}

async function bench(directory: string) {
  const ours = await startOurs();
  await seedPeers(url, SIZES);
  const operations = planOperations(await signToken(), await makeIngestKey(ours));
  const chosen = options.operations?.split(",") ?? operations.map((each) => each.number);
  const catalogue = await fetchCatalogue(ours);
  const servers = { ours, bun: await startBun(catalogue), fastify: await startFastify(directory, catalogue) };

  console.info(
    `${program.join(" ")}\n${CALLERS} in flight, medians of ${plan.rounds} rounds of ${plan.seconds} s, in turn; CPU in ms per request; load ${loadavg()[0]?.toFixed(1)}\n`,
  );
  const names = ["ours", "bun", "fastify"];
  const costs = (part: string) => [...names.map((name) => `${name} ${part}`), `${part} ours/bun`];
  printRow("operation", ...names.map((name) => `${name} req/s`), "ours/bun", "fastify/bun", ...costs("CPU"), ...costs("PG"));
  const sql = postgres(url, { max: 1 });
  for (const number of chosen) {
    const operation = operations.find((each) => each.number === number);
    if (!operation) throw new Error(`there is no operation ${number}; there are ${operations.map((each) => each.number)}`);
    await assertSameShape(operation, servers);
    await measure(sql, directory, operation, servers);
  }
  await sql.end();
}

async function measure(sql: postgres.Sql, directory: string, { number, name, call, spread, isSlow }: Operation, servers: Record<Peer, string>) {
  const contestants = async (seconds: number) => {
    const each = async (peer: Peer) => {
      const meter = createMeter(sql, { pid: pidOf(servers[peer]), application: PEERS[peer] }, seconds);
      return { ...meter, run: meter.measured(await caller(directory, `${number}-${peer}`, servers[peer], call, spread, seconds)) };
    };
    return { ours: await each("ours"), bun: await each("bun"), fastify: await each("fastify") };
  };
  const warmUp = await contestants(plan.warmUp); // the compiler of hot code needs seconds of load
  await compare({ ours: warmUp.ours.run, bun: warmUp.bun.run, fastify: warmUp.fastify.run }, CALLERS, 1);
  const { ours, bun, fastify } = await contestants(plan.seconds * (isSlow ? 4 : 1));
  const rate = await compare({ ours: ours.run, bun: bun.run, fastify: fastify.run }, CALLERS, plan.rounds);
  const [cost, limit, other] = [ours.perRequest(), bun.perRequest(), fastify.perRequest()];
  const milliseconds = (part: "server" | "Postgres") => [
    ...[cost, limit, other].map((each) => (each[part] * 1_000).toFixed(3)),
    limit[part] > 0 ? (cost[part] / limit[part]).toFixed(2) : "-",
  ];
  const rates = [rate.ours, rate.bun, rate.fastify].map((each) => Math.round(each).toLocaleString("en"));
  const ratios = [rate.ours / rate.bun, rate.fastify / rate.bun].map((each) => each.toFixed(2));
  printRow(`${number} ${name}`, ...rates, ...ratios, ...milliseconds("server"), ...milliseconds("Postgres"));
}

function startOurs() {
  const secrets = { JWT_SECRET, SECRETS_KEY: Buffer.alloc(32).toString("base64") };
  const environment = { DATABASE_URL: url, LOG_LEVEL: "info", RATE_LIMITS: "off", TRUSTED_GATEWAYS: "127.0.0.1", ...secrets };
  return start((port) => ({ command: [...program, "serve"], environment: { ...environment, PORT: `${port}` } }));
}

function startBun(catalogue: string) {
  const peer = join(import.meta.dir, "peers/bun.ts");
  return start((port) => ({ command: [process.execPath, peer, JSON.stringify({ port, url, catalogue } satisfies Task)] }));
}

/** Node reads no TypeScript of every version, so Bun writes one file of JavaScript for it. `bun run` puts a `node` of its own first in PATH. */
async function startFastify(directory: string, catalogue: string) {
  const peer = join(directory, "fastify.mjs");
  await run([process.execPath, "build", join(import.meta.dir, "peers/fastify.ts"), "--target", "node", "--external", "pg-native", "--outfile", peer]);
  const path = (Bun.env.PATH ?? "").split(":").filter((each) => !each.includes("bun-node"));
  const node = Bun.which("node", { PATH: path.join(":") });
  if (!node) throw new Error("there is no Node on this machine");
  return start((port) => ({ command: [node, peer, JSON.stringify({ port, url, catalogue } satisfies Task)], environment: { NODE_ENV: "production" } }));
}

async function fetchCatalogue(server: string) {
  return (await fetch(`${server}/organizations/${ORGANIZATION}/certs/trust-store-catalog`, { headers: GATEWAY })).text();
}

async function makeIngestKey(server: string) {
  const headers = { ...GATEWAY, "content-type": "application/json" };
  const answer = await fetch(`${server}/organizations/${ORGANIZATION}/ai-governance/ingest/keys`, { method: "POST", headers, body: `{"name":"bench"}` });
  return ((await answer.json()) as { key: string }).key;
}

function signToken() {
  return new SignJWT({ sub: READER }).setProtectedHeader({ alg: "HS256" }).setExpirationTime("1h").sign(Buffer.from(JWT_SECRET));
}

function printRow(first: string, ...cells: string[]) {
  console.info(first.padEnd(20) + cells.map((cell) => cell.padStart(14)).join(""));
}
