import { resolve } from "node:path";
import { readMigrationFiles } from "drizzle-orm/migrator";
import type { Pool } from "#db/connect";
import journal from "../../../drizzle/meta/_journal.json";

/** Every migration there is, in order. */
export const migrationFiles = readMigrationFiles({ migrationsFolder: resolve(import.meta.dir, "../../../drizzle") }).map((file, index) => ({
  ...file,
  name: journal.entries[index]?.tag ?? "",
}));

/** Leaves an empty database as a release with the first `count` migrations left it. */
export async function applyFirst(sql: Pool, count: number) {
  await sql.unsafe("create schema drizzle");
  await sql.unsafe("create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)");
  for (const { sql: statements, hash, folderMillis } of migrationFiles.slice(0, count)) {
    await sql.unsafe(statements.join(";\n"));
    await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values (${hash}, ${folderMillis})`;
  }
}
