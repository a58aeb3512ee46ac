import { resolve } from "node:path";
import postgres from "postgres";
import { seedKnowledge } from "./isolation-seed";
import { signToken, startCertitude, stopAll } from "./processes";
import { USER } from "./seed";

const HELP = `bun run bench:isolation [--quick] [--reuse] [--source DIR]

Does one tenant slow another? p99 of an organization's top-expiring, asked again and again by one caller: alone, beside 64 parallel
searches of one member of another organization in a large knowledge base, and beside searches in 64 organizations at once. Needs wrk
and a Postgres: TEST_DATABASE_URL, or the local one; it makes a database of its own there and drops it at the end. Everything shares
this machine's cores, so read the ratios: beside divided by alone, round by round.

  --quick        fewer passages, shorter rounds
  --reuse        keeps the seeded database for the next run with --reuse
  --source DIR   serves another checkout, to compare`;

const ADMIN_URL = Bun.env.TEST_DATABASE_URL || "postgres://postgres@127.0.0.1:5432/postgres";
const flag = (name: string) => Bun.argv.includes(name);
const plan = flag("--quick") ? { passages: 20_000, rounds: 3, seconds: 4 } : { passages: 100_000, rounds: 5, seconds: 10 };
const source = flag("--source") ? (Bun.argv[Bun.argv.indexOf("--source") + 1] ?? "") : resolve(import.meta.dir, "../..");
const database = `certitude_isolation_${plan.passages}`;
const url = Object.assign(new URL(ADMIN_URL), { pathname: `/${database}` }).href;
/** One word that stands in nearly every passage, some that are rarer, and two together. */
const QUERIES = ["certificate", "anchor", "trust%20policy", "evidence%20OR%20model"];

if (flag("--help")) console.info(HELP);
else await main();

type Seeded = Awaited<ReturnType<typeof seedKnowledge>>;

async function main() {
  const admin = postgres(ADMIN_URL, { max: 1, onnotice: () => {} });
  try {
    await bench(await prepare(admin));
  } finally {
    await stopAll();
    if (!flag("--reuse")) await admin.unsafe(`drop database if exists ${database} with (force)`);
    await admin.end();
  }
}

async function prepare(admin: postgres.Sql): Promise<Seeded> {
  const kept = Bun.file(`/tmp/${database}.json`);
  const [found] = await admin`select 1 from pg_database where datname = ${database}`;
  if (flag("--reuse") && found && (await kept.exists())) return kept.json();
  await admin.unsafe(`drop database if exists ${database} with (force)`);
  await admin.unsafe(`create database ${database}`);
  const seeded = await seedKnowledge(url, plan.passages);
  await kept.write(JSON.stringify(seeded));
  return seeded;
}

async function bench({ searched, other, more }: Seeded) {
  const server = await startCertitude({ DATABASE_URL: url }, { source });
  const token = await signToken(USER);
  const all = [searched, ...more, other].slice(0, 64);
  const loads = {
    alone: undefined,
    "one member, 64 searches": { connections: 64, organizations: [searched] },
    "64 organizations, a search each": { connections: 64, organizations: all },
  };
  await probe(server, other, 3);
  const results = Object.keys(loads).map((name) => ({ name, rounds: [] as Probe[], searches: [] as string[] }));
  for (let round = 0; round < plan.rounds; round++)
    for (const [index, load] of Object.values(loads).entries()) {
      const searching = load && search(server, token, load);
      if (searching) await Bun.sleep(1_000);
      results[index]?.rounds.push(await probe(server, other, plan.seconds));
      if (searching) results[index]?.searches.push(await searching);
    }
  const [alone] = results;
  for (const { name, rounds, searches } of results) {
    const ratio = median(rounds.map((each, index) => each.p99 / (alone?.rounds[index]?.p99 ?? 1)));
    const [p50, p99] = [median(rounds.map((each) => each.p50)), median(rounds.map((each) => each.p99))];
    console.info(
      `${name.padEnd(34)} p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, p99 beside/alone ${ratio.toFixed(2)}; searches ${searches[0] ?? "none"}`,
    );
  }
}

type Probe = { p50: number; p99: number };

/** One caller of top-expiring for so many seconds. */
async function probe(server: string, { id }: { id: string }, seconds: number): Promise<Probe> {
  const headers = { "x-organization-id": id, "x-organization-role": "ORG_MEMBER" };
  const times: number[] = [];
  for (const until = performance.now() + seconds * 1_000; performance.now() < until; ) {
    const startedAt = performance.now();
    const answer = await fetch(`${server}/organizations/${id}/certs/monitoring/top-expiring`, { headers });
    await answer.arrayBuffer();
    if (answer.status !== 200) throw new Error(`top-expiring answered ${answer.status}`);
    times.push(performance.now() - startedAt);
    await Bun.sleep(1); // one page after another, as people and their dashboards ask
  }
  times.sort((one, other) => one - other);
  const at = (share: number) => times[Math.floor(times.length * share)] ?? 0;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Searches without pause until a second after the probe has ended. Returns how many were answered in a second. */
async function search(server: string, token: string, { connections, organizations }: { connections: number; organizations: { id: string }[] }) {
  const lua = `/tmp/certitude-isolation-${process.pid}.lua`;
  const ids = organizations.map((each) => `"${each.id}"`).join(",");
  await Bun.write(
    lua,
    `local ids = {${ids}}; local queries = {${QUERIES.map((each) => `"${each}"`).join(",")}}; local n = 0
    request = function()
      n = n + 1
      local id = ids[n % #ids + 1]
      local headers = { ["authorization"] = "Bearer ${token}", ["x-organization-id"] = id, ["x-organization-role"] = "ORG_MEMBER" }
      return wrk.format("GET", "/organizations/" .. id .. "/knowledge/search?q=" .. queries[n % #queries + 1], headers)
    end`,
  );
  const wrk = Bun.spawn(["wrk", "-t1", `-c${connections}`, `-d${plan.seconds + 2}s`, "--timeout", "10s", "-s", lua, server], { stdout: "pipe" });
  const output = await wrk.stdout.text();
  const refused = /Non-2xx or 3xx responses: (\d+)/.exec(output)?.[1] ?? "0";
  return `${/Requests\/sec:\s*([\d.]+)/.exec(output)?.[1]}/s, ${refused} refused`;
}

function median(values: number[]) {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}
