import type { Command } from "commander";
import { migrate } from "#db/migrate";
import { askServer } from "#maintenance/socket";
import { rebuildCounts } from "#modules/core/widgets/queries/counts";
import { readConfigOrExit, withDatabase } from "./environment";

export function addCounts(program: Command) {
  const counts = program.command("counts").description("Rebuild the counts behind dashboards, /metrics and inboxes.");
  counts
    .command("rebuild")
    .exitOverride()
    .showHelpAfterError()
    .description("Count certificates, assignments and read notifications again. Servers may run meanwhile.")
    .addHelpText(
      "after",
      "\nEvery write keeps the counts right: this is for rows that were changed past the triggers of the database.\nWrites of assignments and of notifications wait while these are counted, some seconds for a million.",
    )
    .action(rebuild);
}

async function rebuild() {
  const { databaseUrl, dataDir } = readConfigOrExit();
  if (!databaseUrl && (await askServer(dataDir, "rebuild-counts", console.info))) return;
  await withDatabase(async ({ $client: sql }) => {
    await migrate(sql);
    await rebuildCounts(sql, console.info);
  });
}
