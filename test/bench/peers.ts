import { loadavg } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { createMeter } from "./cpu";
import { inDatabase, type Workplace } from "./database";
import { compare, median, ratio, run } from "./measure";
import { LEAN, makeLeanTables } from "./peers/lean";
import { GATEWAY, type Operation, planOperations } from "./peers/plan";
import { ORGANIZATION, READER, seedPeers } from "./peers/seed";
import { assertSameShape } from "./peers/shape";
import type { Task } from "./peers/work";
import { pidOf, runCertitude, signToken, start, startCertitude } from "./processes";
import { caller } from "./requests";

const HELP = `bun run bench:peers [--operations 17,4] [--thorough] [--callers 16] [--binary] [--source DIR] [--before DIR]

What does a request cost here, and what elsewhere? Operations of the interface, with 16 requests in flight, answered by this
server (with audit events, metrics and a log line), by a hand-written Bun.serve + Bun.sql, and by Fastify + pg on Node, which
do the same plain work: on this server's own tables, and on lean ones, which have its columns and rows but no triggers, no
partitions and few indexes. Requests a second and CPU time per request, of the server and of Postgres, each also divided by
those of Bun.serve + Bun.sql on the same tables and on lean ones. All operations take less than six minutes.
Needs wrk, Node and a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes databases of its own there and
drops them at the end. Callers, servers and Postgres share this machine's cores, so read the ratios.

  --operations   only these, by their numbers; 4 changes an assignment's applicationId, 4c its config
  --thorough     long rounds, in about half an hour
  --callers      requests in flight
  --binary       measures dist/certitude
  --source DIR   measures the server of another checkout
  --before DIR   measures the server of another checkout too, on a database of its own`;

const { values: options } = parseArgs({
  args: Bun.argv.slice(2),
  options: {
    help: { type: "boolean" },
    thorough: { type: "boolean" },
    operations: { type: "string" },
    callers: { type: "string", default: "16" },
    binary: { type: "boolean", default: false },
    source: { type: "string" },
    before: { type: "string" },
  },
});
const plan = options.thorough ? { rounds: 7, seconds: 2, warmUp: 20, slower: 4 } : { rounds: 3, seconds: 1, warmUp: 3, slower: 3 };
const SIZES = { certificates: 10_000, notices: 100_000 };

/** A server that is measured; `application` is the name of its sessions in Postgres. */
type Peer = { name: string; origin: string; application: string; sql: postgres.Sql; operations: Operation[] };

if (options.help) console.info(HELP);
else await inDatabase("peers", bench);

async function bench(workplace: Workplace) {
  const source = options.source && { source: resolve(options.source) };
  const ours = await prepareCertitude("ours", workplace, { isBinary: options.binary, ...source });
  // On a database of their own: what they change there has no stamp, and this server would hold it.
  await inDatabase("tables", async (tables) => {
    const peers = [ours, ...(await startPeers({ ...tables, directory: workplace.directory }, ours))];
    if (!options.before) return measureAll(peers, workplace);
    const before = { source: resolve(options.before) };
    await inDatabase("before", async (other) => measureAll([...peers, await prepareCertitude("before", other, before)], workplace));
  });
}

async function measureAll(peers: Peer[], { directory }: Workplace) {
  console.info(`${options.callers} in flight, medians of ${plan.rounds} rounds of ${plan.seconds} s, in turn; load ${loadavg()[0]?.toFixed(1)}\n`);
  printRow("operation", "", "req/s", "/bun", "/lean", "CPU ms", "/bun", "/lean", "Postgres ms", "/bun", "/lean");
  const numbers = peers[0]?.operations.map((each) => each.number) ?? [];
  for (const number of options.operations?.split(",") ?? numbers) {
    if (!numbers.includes(number)) throw new Error(`there is no operation ${number}; there are ${numbers}`);
    const calls = peers.flatMap((peer) => peer.operations.filter((each) => each.number === number).map((operation) => ({ ...peer, operation })));
    await assertSameShape(calls);
    await measure(calls, directory);
  }
  for (const sql of new Set(peers.map((each) => each.sql))) await sql.end();
}

async function measure(calls: (Peer & { operation: Operation })[], directory: string) {
  const contestants = (seconds: number) =>
    Promise.all(
      calls.map(async ({ name, origin, application, sql, operation }) => {
        const meter = createMeter(sql, { pid: pidOf(origin), application }, seconds);
        return { ...meter, name, contestant: meter.measured(await caller(directory, `${operation.number}-${name}`, origin, operation.call, seconds)) };
      }),
    );
  const race = (given: Awaited<ReturnType<typeof contestants>>, rounds: number) =>
    compare(Object.fromEntries(given.map(({ name, contestant }) => [name, contestant])), Number(options.callers), rounds);

  const isSlow = calls.some(({ operation }) => operation.isSlow);
  await race(await contestants(plan.warmUp), 1); // the compiler of hot code is done after some twenty seconds of load
  const measured = await contestants(plan.seconds * (isSlow ? plan.slower : 1));
  const rates = await race(measured, plan.rounds);
  const limits = ["bun", `bun ${LEAN}`].map((name) => ({ rates: rates[name] ?? [], costs: measured.find((each) => each.name === name)?.perRequest() }));
  for (const { name, perRequest } of measured) {
    const title = name === "ours" ? `${calls[0]?.operation.number} ${calls[0]?.operation.name}` : "";
    const own = rates[name] ?? [];
    const costs = perRequest();
    const pace = [Math.round(median(own)).toLocaleString("en"), ...limits.map((limit) => ratio(own, limit.rates).toFixed(2))];
    const cost = (of: "server" | "Postgres") => [milliseconds(costs[of]), ...limits.map((limit) => divide(costs[of], limit.costs?.[of] ?? 0))];
    printRow(title, name, ...pace, ...cost("server"), ...cost("Postgres"));
  }
}

async function prepareCertitude(name: string, { url }: Workplace, version: { source?: string; isBinary?: boolean }): Promise<Peer> {
  await fillDatabase(url, version);
  const origin = await startCertitude({ DATABASE_URL: url }, version);
  const operations = planOperations(await signToken(READER), await makeIngestKey(origin));
  return { name, origin, application: "certitude", sql: postgres(url, { max: 1 }), operations };
}

async function fillDatabase(url: string, version: { source?: string; isBinary?: boolean } = {}) {
  await runCertitude(["migrate"], { DATABASE_URL: url }, version);
  await seedPeers(url, SIZES);
  await runCertitude(["secrets", "trust"], { DATABASE_URL: url }, version); // a config of what no server stamped cannot be changed
}

async function startPeers(workplace: Workplace, ours: Peer) {
  await fillDatabase(workplace.url);
  const sql = postgres(workplace.url, { max: 1 });
  await makeLeanTables(sql);
  const server = join(workplace.directory, "fastify.mjs");
  await buildFastify(server);
  const peers: Peer[] = [];
  for (const schema of ["public", LEAN])
    peers.push(await startPeer(workplace, { ...ours, sql }, "bun", schema, [process.execPath, join(import.meta.dir, "peers/bun.ts")]));
  for (const schema of ["public", LEAN]) peers.push(await startPeer(workplace, { ...ours, sql }, "fastify", schema, [findNode(), server]));
  return peers;
}

async function startPeer({ url }: Workplace, ours: Peer, kind: string, schema: string, program: string[]): Promise<Peer> {
  const name = schema === LEAN ? `${kind} ${LEAN}` : kind;
  const catalogue = await fetchCatalogue(ours.origin);
  const origin = await start((port) => ({
    command: [...program, JSON.stringify({ port, url, name, schema, catalogue } satisfies Task)],
    environment: { NODE_ENV: "production" },
  }));
  return { ...ours, name, origin, application: name };
}

/** Not every Node reads TypeScript, so Bun writes one file of JavaScript for it. */
function buildFastify(file: string) {
  return run([process.execPath, "build", join(import.meta.dir, "peers/fastify.ts"), "--target", "node", "--external", "pg-native", "--outfile", file]);
}

/** `bun run` puts a `node` of its own first in PATH. */
function findNode() {
  const path = (Bun.env.PATH ?? "").split(":").filter((each) => !each.includes("bun-node"));
  const node = Bun.which("node", { PATH: path.join(":") });
  if (!node) throw new Error("there is no Node on this machine");
  return node;
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
  console.info(first.padEnd(22) + cells.map((cell, index) => cell.padStart(index === 0 ? 13 : 11)).join(""));
}

function milliseconds(seconds: number) {
  return (seconds * 1_000).toFixed(3);
}

function divide(cost: number, limit: number) {
  return limit > 0 ? (cost / limit).toFixed(2) : "-";
}
