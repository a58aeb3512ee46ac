import { connectDatabase, type Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { indexingEvents } from "#jobs/audit-trail";
import { repeat } from "#jobs/repeat";
import { type Actor, audit } from "#modules/people/audit/queries";
import { cpuOf } from "./cpu";
import { inDatabase } from "./database";
import { capture, type Statement } from "./statement";

const HELP = `bun run bench:trail [--quick]

What does an audit event cost, and how far is the tail behind? By turns, 5,000 events a second are written into the tail, from where the job moves
them each second, and straight under the indexes, in a trail of 1,000,000 events of 50 organizations.
Needs a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own there and drops it.

  --quick   100,000 events before, three seconds each, once`;

const IS_QUICK = Bun.argv.includes("--quick");
const BEFORE = IS_QUICK ? 100_000 : 1_000_000;
const SECONDS = IS_QUICK ? 3 : 10;
const TURNS = IS_QUICK ? 1 : 3;
const A_SECOND = 5_000;
const CALLERS = 8;
/** Events of a statement, as of a write to so many agents: with fewer, the statements take most of the time. */
const A_WRITE = 10;
const ORGANIZATIONS = 50;
const TICK_MS = 20;
/** Stands where each event's own organization and target are put. */
const [ORGANIZATION, TARGET] = [crypto.randomUUID(), "the target"];

type Way = { name: string; statement: Statement; isMoved: boolean };
type Figures = { events: number; rate: number; cpu: number; moving: number; behindMs: number; rows: number };

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("trail", ({ url }) => bench(url));

async function bench(url: string) {
  const admin = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 }).$client;
  await migrate(admin);
  await fill(admin);
  const actor: Actor = { type: "user", id: crypto.randomUUID(), role: "ORG_ADMIN" };
  const scope = { organizationId: ORGANIZATION, actor, requestId: crypto.randomUUID() };
  const details = JSON.stringify({ changes: { enabled: [true, false] } });
  const statement = await capture(
    url,
    (sql) => sql`${audit(sql, scope, "assignment.updated", sql`select ${TARGET}::text || n, ${details}::jsonb from generate_series(1, ${A_WRITE}::int) as n`)}`,
  );
  const ways: Way[] = [
    { name: "tail", statement, isMoved: true },
    { name: "indexed", statement: { ...statement, text: statement.text.replace("into audit_tail", "into audit_events") }, isMoved: false },
  ];
  for (let turn = 0; turn < TURNS; turn++)
    for (const way of turn % 2 === 0 ? ways : ways.toReversed()) {
      await admin`vacuum (analyze) audit_tail`;
      print(way.name, await measure(url, admin, way));
    }
  await admin.end();
}

function print(name: string, { events, rate, cpu, moving, behindMs, rows }: Figures) {
  const each = (seconds: number) => `${((1e6 * seconds) / events).toFixed(0)} µs`;
  console.info(`${name.padEnd(9)} ${rate.toFixed(0)} events/s, Postgres' CPU of an event: ${each(cpu)} in its write, ${each(moving)} in the job`);
  if (moving > 0) console.info(`${"".padEnd(9)} the oldest in the tail was written ${behindMs.toFixed(0)} ms ago at most, ${rows} events at most`);
}

/** A trail as it is after a while: the targets all different, the ids in order of time. */
async function fill(sql: Pool) {
  await sql`
    insert into audit_events (organization_id, id, actor, action, target_type, target_id, request_id, details)
    select o.id, new_id(), jsonb_build_object('type', 'user', 'id', o.id, 'role', 'ORG_ADMIN'),
      'assignment.' || n % 7, 'assignment', gen_random_uuid()::text, gen_random_uuid()::text, '{"changes": {"enabled": [true, false]}}'
    from generate_series(1, ${BEFORE}::int) as n, lateral (select ('00000000-0000-7000-8000-' || lpad(to_hex(n % ${ORGANIZATIONS}), 12, '0'))::uuid as id) as o`;
  await sql`vacuum (analyze) audit_events`;
}

/** Sends the events at their pace, and looks at the tail meanwhile. */
async function measure(url: string, admin: Pool, { statement, isMoved }: Way): Promise<Figures> {
  const [writers, mover] = ["writers", "mover"].map(
    (name) => connectDatabase(`${url}?application_name=${name}`, { max: name === "mover" ? 1 : CALLERS }).$client,
  );
  if (!writers || !mover) throw new Error("there must be two pools");
  await Promise.all([mover`select`, ...Array.from({ length: CALLERS }, () => writers`select pg_sleep(0.1)`)]);
  const used = async (name: string) =>
    cpuOf((await admin<{ pid: number }[]>`select pid from pg_stat_activity where application_name = ${name}`).map(({ pid }) => pid));
  const before = { cpu: await used("writers"), moving: await used("mover") };
  const job = indexingEvents();
  const move = (signal: AbortSignal) => job({ sql: mover, config: { databaseUrl: url } }, signal);
  const stop = isMoved ? repeat({ everyMs: 1_000 }, move) : async () => {};
  const seen = { behindMs: 0, rows: 0 };
  const began = performance.now();
  const end = began + SECONDS * 1_000;
  let events = 0;
  async function write() {
    while (performance.now() < end) {
      const due = (A_SECOND * (performance.now() - began)) / 1_000;
      if (events >= due) await Bun.sleep(TICK_MS / 4);
      else {
        events += A_WRITE;
        await one(writers as Pool, statement, events / A_WRITE);
      }
    }
  }
  async function watch() {
    while (performance.now() < end) {
      const [row] = await admin<{ behindMs: number; rows: number }[]>`
        select coalesce(1000 * extract(epoch from clock_timestamp() - min(at)), 0)::float8 as "behindMs", count(*)::int as rows from audit_tail`;
      seen.behindMs = Math.max(seen.behindMs, row?.behindMs ?? 0);
      seen.rows = Math.max(seen.rows, row?.rows ?? 0);
      await Bun.sleep(10 * TICK_MS);
    }
  }
  await Promise.all([watch(), ...Array.from({ length: CALLERS }, write)]);
  const rate = (1_000 * events) / (performance.now() - began);
  await stop();
  if (isMoved) await move(new AbortController().signal); // the last ones are not the next turn's
  const figures = { events, rate, cpu: (await used("writers")) - before.cpu, moving: (await used("mover")) - before.moving, ...seen };
  await Promise.all([writers.end(), mover.end()]);
  return figures;
}

function one(sql: Pool, { text, parameters }: Statement, index: number) {
  const own = new Map([
    [ORGANIZATION, `00000000-0000-7000-8000-${(index % ORGANIZATIONS).toString(16).padStart(12, "0")}`],
    [TARGET, crypto.randomUUID() as string],
  ]);
  return sql.unsafe(
    text,
    parameters.map((each) => own.get(String(each)) ?? each),
    { prepare: true },
  );
}
