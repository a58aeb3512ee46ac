import type { Command } from "commander";
import type { Pool } from "#db/connect";
import { migrate, migrationStatus } from "#db/migrate";
import { withDatabase } from "./environment";

export const addMigrate = (program: Command) =>
  program
    .command("migrate")
    .description("Bring the database up to date. serve does it too, at its start.")
    .option("--status", "only list the migrations and whether the database has them")
    .action(({ status = false }: { status?: boolean }) => withDatabase(({ $client: sql }) => (status ? showStatus(sql) : apply(sql))));

async function apply(sql: Pool) {
  const applied = await migrate(sql, { warn: (details, message) => console.error(`${message} ${JSON.stringify(details)}`) });
  for (const name of applied) console.info(`applied ${name}`);
  if (applied.length === 0) console.info("The database is up to date.");
}

async function showStatus(sql: Pool) {
  const { migrations, unknown } = await migrationStatus(sql);
  for (const { name, applied } of migrations) console.info(`${applied ? "applied" : "pending"} ${name}`);
  for (const madeAt of unknown) console.info(`unknown, made ${madeAt} for a newer certitude`);
}
