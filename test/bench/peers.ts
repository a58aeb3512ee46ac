import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { createMeter } from "./cpu";
import { inDatabase, type Workplace } from "./database";
import { compare, median, ratio, run } from "./measure";
import { GATEWAY, type Operation, planOperations } from "./peers/plan";
import { ORGANIZATION, READER, seedPeers } from "./peers/seed";
import { assertSameShape } from "./peers/shape";
import type { Task } from "./peers/work";
import { pidOf, signToken, start, startCertitude } from "./processes";
import { caller } from "./requests";

const HELP = `bun run bench:peers [--quick] [--operations 17,4] [--callers 16] [--source DIR] [--binary]

What does a request cost here, and what elsewhere? Operations of the interface, with 16 requests in flight, answered by this
server (with audit events, metrics and a log line), by a hand-written Bun.serve + Bun.sql, and by Fastify + pg on Node, which
do the same plain work on the same tables. Requests a second and CPU time per request, of the server and of Postgres.
Needs wrk, Node and a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own there
and drops it at the end. Callers, servers and Postgres share this machine's cores, so read the ratios.

  --quick        short rounds, in about three minutes
  --operations   only these, by their numbers
  --callers      requests in flight
  --source DIR   measures the server of another checkout
  --binary       measures dist/certitude of that checkout`;

const { values: options } = parseArgs({
  args: Bun.argv.slice(2),
  options: {
    help: { type: "boolean" },
    quick: { type: "boolean" },
    operations: { type: "string" },
    callers: { type: "string", default: "16" },
    source: { type: "string" },
    binary: { type: "boolean", default: false },
  },
});
const plan = options.quick ? { rounds: 3, seconds: 1, warmUp: 2 } : { rounds: 7, seconds: 2, warmUp: 5 };
const SIZES = { certificates: 10_000, notices: 100_000 };
/** Each with the name of its sessions in Postgres. */
const PEERS = { ours: "certitude", bun: "bun", fastify: "fastify" } as const;
type Peer = keyof typeof PEERS;

if (options.help) console.info(HELP);
else await inDatabase("peers", bench);

async function bench({ url, directory }: Workplace) {
  const ours = await startCertitude({ DATABASE_URL: url }, { isBinary: options.binary, ...(options.source && { source: resolve(options.source) }) });
  await seedPeers(url, SIZES);
  const operations = planOperations(await signToken(READER), await makeIngestKey(ours));
  const chosen = options.operations?.split(",") ?? operations.map((each) => each.number);
  const catalogue = await fetchCatalogue(ours);
  const servers = { ours, bun: await startBun(url, catalogue), fastify: await startFastify(directory, url, catalogue) };

  console.info(
    `${options.callers} in flight, medians of ${plan.rounds} rounds of ${plan.seconds} s, in turn; CPU in ms per request; load ${loadavg()[0]?.toFixed(1)}\n`,
  );
  const names = Object.keys(PEERS);
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

async function measure(sql: postgres.Sql, directory: string, { number, name, call, isSlow }: Operation, servers: Record<Peer, string>) {
  const contestants = async (seconds: number) => {
    const each = async (peer: Peer) => {
      const meter = createMeter(sql, { pid: pidOf(servers[peer]), application: PEERS[peer] }, seconds);
      return { ...meter, contestant: meter.measured(await caller(directory, `${number}-${peer}`, servers[peer], call, seconds)) };
    };
    return { ours: await each("ours"), bun: await each("bun"), fastify: await each("fastify") };
  };
  const race = ({ ours, bun, fastify }: Awaited<ReturnType<typeof contestants>>, rounds: number) =>
    compare({ ours: ours.contestant, bun: bun.contestant, fastify: fastify.contestant }, Number(options.callers), rounds);

  await race(await contestants(plan.warmUp), 1); // the compiler of hot code needs seconds of load
  const measured = await contestants(plan.seconds * (isSlow ? 4 : 1));
  const { ours, bun, fastify } = await race(measured, plan.rounds);
  const spent = [measured.ours, measured.bun, measured.fastify].map((each) => each.perRequest());
  const costs = (part: "server" | "Postgres") => {
    const [ofOurs = 0, ofBun = 0, ofFastify = 0] = spent.map((each) => each[part] * 1_000);
    return [...[ofOurs, ofBun, ofFastify].map((each) => each.toFixed(3)), ofBun > 0 ? (ofOurs / ofBun).toFixed(2) : "-"];
  };
  const rates = [ours, bun, fastify].map((each) => Math.round(median(each)).toLocaleString("en"));
  printRow(`${number} ${name}`, ...rates, ratio(ours, bun).toFixed(2), ratio(fastify, bun).toFixed(2), ...costs("server"), ...costs("Postgres"));
}

function startBun(url: string, catalogue: string) {
  const peer = join(import.meta.dir, "peers/bun.ts");
  return start((port) => ({ command: [process.execPath, peer, JSON.stringify({ port, url, catalogue } satisfies Task)] }));
}

/** Not every Node reads TypeScript, so Bun writes one file of JavaScript for it. `bun run` puts a `node` of its own first in PATH. */
async function startFastify(directory: string, url: string, catalogue: string) {
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

function printRow(first: string, ...cells: string[]) {
  console.info(first.padEnd(20) + cells.map((cell) => cell.padStart(14)).join(""));
}
