import type { Pool, Sql } from "./connect";
import { embeddedMigrations } from "./migrations.macro" with { type: "macro" };

type Log = { warn: (details: object, message: string) => void };

export const migrations = embeddedMigrations();
const KNOWN = new Set(migrations.map((each) => each.folderMillis));
const LOCK = 4_711_001;
/** Requests queue behind a migration that waits for a table: this bounds how long. */
const LOCK_TIMEOUT_MS = 2_000;
const LONGEST_PAUSE_MS = 15_000;
/** How long to try for tables in use, and for another process that migrates. */
const TABLES_PATIENCE_MS = 120_000;
const OTHERS_PATIENCE_MS = 900_000;
/** lock_not_available, deadlock_detected. */
const IS_LOCKED = /^(55P03|40P01)$/;

export type Patience = { tables?: number; others?: number };

/**
 * Applies what is missing, one process at a time, in drizzle-kit's own ledger; returns the names it applied. All of it is done,
 * or nothing.
 */
export async function migrate(sql: Pool, log?: Log, { tables = TABLES_PATIENCE_MS, others = OTHERS_PATIENCE_MS }: Patience = {}) {
  const startedAt = performance.now();
  for (let pause = 500; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    const outcome = await tryToMigrate(sql);
    if (Array.isArray(outcome)) return outcome;
    const isOther = outcome === "another migrates";
    const about = isOther ? await describeHolder(sql) : await describeLongest(sql);
    const sentence = isOther ? "another process is migrating the database, retrying" : "tables are in use, retrying the migration";
    const left = (isOther ? others : tables) - (performance.now() - startedAt);
    if (left <= 0) throw new Error(`${GIVEN_UP[outcome]}${about ? ` (${about})` : ""}. Nothing was changed; try again.`);
    log?.warn({ by: about, retryInMs: Math.min(pause, left) }, sentence);
    await Bun.sleep(Math.min(pause, left));
  }
}

const GIVEN_UP = {
  "another migrates": "The database cannot be migrated: another process has been at it for too long",
  "tables in use": "The database cannot be migrated: its tables were in use all the time",
};

async function tryToMigrate(sql: Pool): Promise<string[] | keyof typeof GIVEN_UP> {
  if ((await hasLedger(sql)) && (await pendingMigrations(sql)).length === 0) return [];
  try {
    return await sql.begin(async (tx) => {
      await tx`select set_config('statement_timeout', '0', true), set_config('lock_timeout', ${`${LOCK_TIMEOUT_MS}`}, true)`;
      const [lock] = await tx`select pg_try_advisory_xact_lock(${LOCK}) as "isOurs"`;
      return lock?.isOurs ? apply(tx) : "another migrates";
    });
  } catch (error) {
    if (IS_LOCKED.test(String((error as { code?: unknown }).code))) return "tables in use";
    throw error;
  }
}

/**
 * Migrates the database inside a transaction, up to date or to `level`: the times of another database's migrations. Throws
 * where it has others, or this executable does not know them.
 */
export async function migrateWithin(tx: Sql, level?: number[]) {
  await tx`select pg_advisory_xact_lock(${LOCK})`;
  const unknown = unknownOf(level ?? []);
  if (unknown.length > 0)
    throw new Error(`The backup is of a newer certitude: its database has migrations that this one does not know (made ${unknown.join(", ")}).`);
  await apply(tx, level);
  const more = level && (await readLedger(tx)).filter((each) => !level.includes(each));
  if (more && more.length > 0)
    throw new Error("The database has newer tables than the backup. Restore into one without tables: it is brought up to date afterwards.");
}

async function apply(tx: Sql, level?: number[]) {
  await tx`create schema if not exists drizzle`;
  await tx`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
  const pending = (await pendingMigrations(tx)).filter((each) => level?.includes(each.folderMillis) ?? true);
  for (const migration of pending) {
    for (const statement of migration.sql) await tx.unsafe(statement);
    await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${migration.hash}, ${migration.folderMillis})`;
  }
  return pending.map((each) => each.name);
}

/** Every migration of this executable and whether the database has it, and when those were made that only a newer one knows. */
export async function migrationStatus(sql: Sql) {
  const applied = new Set((await hasLedger(sql)) ? await readLedger(sql) : []);
  return {
    migrations: migrations.map(({ name, folderMillis }) => ({ name, applied: applied.has(folderMillis) })),
    unknown: unknownOf([...applied]),
  };
}

async function hasLedger(sql: Sql) {
  const [ledger] = await sql`select to_regclass('drizzle.__drizzle_migrations') is not null as exists`;
  return ledger?.exists === true;
}

async function readLedger(sql: Pick<Sql, "unsafe">) {
  const rows = await sql.unsafe("select created_at as at from drizzle.__drizzle_migrations");
  return rows.map((row) => Number(row.at));
}

const unknownOf = (applied: number[]) =>
  applied
    .filter((each) => !KNOWN.has(each))
    .sort((one, other) => one - other)
    .map((each) => new Date(each).toISOString());

/** Throws where a newer certitude was here: its tables may mean what this one does not know. */
async function pendingMigrations(sql: Sql) {
  const applied = await readLedger(sql);
  const unknown = unknownOf(applied);
  if (unknown.length > 0) throw new Error(`${NEWER} ${unknown.join(", ")}). Start that one; a server that runs already may go on.`);
  return migrations.filter((each) => !applied.includes(each.folderMillis));
}

const NEWER = "The database was migrated by a newer certitude: it has what this one does not know (made";

/** Describes the session that holds the lock of migrations. */
async function describeHolder(sql: Sql) {
  const [row] = await sql<{ text: string }[]>`
    select format('process %s, %s, %s, since %s', a.pid, coalesce(nullif(a.application_name, ''), 'unnamed'), coalesce(host(a.client_addr), 'local'), to_char(a.xact_start, 'HH24:MI:SS')) as text
    from pg_locks l join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1 and l.objid = ${LOCK}::bigint::oid
      and l.database = (select oid from pg_database where datname = current_database()) limit 1`;
  return row?.text;
}

/** The transactions that have been open for longest, any of which may hold a table. */
async function describeLongest(sql: Sql) {
  const [row] = await sql<{ text: string | null }[]>`
    select string_agg(text, '; ') as text from (
      select format('process %s, %s, in a transaction since %s', pid, coalesce(nullif(application_name, ''), 'unnamed'), to_char(xact_start, 'HH24:MI:SS')) as text
      from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and xact_start < now() - make_interval(secs => 1) order by xact_start limit 3) as longest`;
  return row?.text ?? undefined;
}
