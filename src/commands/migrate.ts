import { type Command, Option } from "commander";
import type { Pool } from "#db/connect";
import { migrate, migrationStatus } from "#db/migrate";
import { CommandError } from "./command-error";
import { withDatabase } from "./environment";

const UP_TO_DATE = "The database is up to date.";

export const addMigrate = (program: Command) =>
  program
    .command("migrate")
    .description("Bring the database up to date. serve does it too, at its start.")
    .option("--status", "only list the migrations and whether the database has them")
    .addOption(new Option("--check", "only ask whether the database is up to date: exit code 1 where it is not").conflicts("status"))
    .action(({ status, check: isChecked }: { status?: boolean; check?: boolean }) =>
      withDatabase(({ $client: sql }) => (status ? showStatus(sql) : isChecked ? check(sql) : apply(sql))),
    );

async function apply(sql: Pool) {
  const applied = await migrate(sql, { warn: (details, message) => console.error(`${message} ${JSON.stringify(details)}`) });
  for (const name of applied) console.info(`applied ${name}`);
  if (applied.length === 0) console.info(UP_TO_DATE);
}

async function check(sql: Pool) {
  const { migrations, unknown } = await migrationStatus(sql);
  const pending = migrations.filter(({ applied }) => !applied);
  if (unknown.length > 0) throw new CommandError("The database is of a newer certitude. Use that release.");
  const [first] = pending;
  if (first) throw new CommandError(`${pending.length} of ${migrations.length} migrations are pending, from ${first.name} on. certitude migrate applies them.`);
  console.info(UP_TO_DATE);
}

async function showStatus(sql: Pool) {
  const { migrations, unknown } = await migrationStatus(sql);
  for (const { name, applied } of migrations) console.info(`${applied ? "applied" : "pending"} ${name}`);
  for (const madeAt of unknown) console.info(`unknown, made ${madeAt} for a newer certitude`);
}
