import type { Pool, Sql } from "./connect";
import { embeddedMigrations } from "./migrations.macro" with { type: "macro" };

const migrations = embeddedMigrations();
const LOCK = 4_711_001;

/** Applies what is missing, one process at a time, in drizzle-kit's own ledger; answers the names it applied. */
export function migrate(sql: Pool) {
  return sql.begin(async (tx) => {
    await tx`set local statement_timeout = 0`;
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    await tx`create schema if not exists drizzle`;
    await tx`create table if not exists drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
    const pending = await pendingMigrations(tx);
    for (const migration of pending) {
      for (const statement of migration.sql) await tx.unsafe(statement);
      await tx`insert into drizzle.__drizzle_migrations (hash, created_at) values (${migration.hash}, ${migration.folderMillis})`;
    }
    return pending.map((each) => each.name);
  });
}

/** Every migration of this executable and whether the database has it. */
export async function migrationStatus(sql: Sql) {
  const [ledger] = await sql`select to_regclass('drizzle.__drizzle_migrations') is not null as exists`;
  const pending = ledger?.exists ? await pendingMigrations(sql) : migrations;
  const missing = new Set(pending.map((each) => each.name)); // by name: each mention of the macro's constant is a copy
  return migrations.map(({ name }) => ({ name, applied: !missing.has(name) }));
}

async function pendingMigrations(sql: Pick<Sql, "unsafe">) {
  const rows = await sql.unsafe("select created_at as at from drizzle.__drizzle_migrations");
  const applied = new Set(rows.map((row) => Number(row.at)));
  return migrations.filter((each) => !applied.has(each.folderMillis));
}
