import { join } from "node:path";
import type { Deps } from "#deps";
import { rebuildCounts } from "#modules/core/widgets/queries/counts";
import { rotateSecrets } from "./rotate";
import { takeSnapshot } from "./snapshot";
import { oneAtATime, serveTasks } from "./socket";
import { trustForAdministrator } from "./stamping";

const WORK_DIRECTORY = /^backup-[0-9a-f]{8}$/;

/** Does for commands what only the process can do that has the embedded database. Returns what ends it. */
export function serveMaintenance({ sql, config }: Pick<Deps, "sql" | "config">) {
  if (config.databaseUrl) return async () => {};
  return serveTasks(config.dataDir, {
    "rotate-secrets": oneAtATime((tell) => rotateSecrets(sql, config, tell)),
    "trust-rows": oneAtATime((tell) => trustForAdministrator(sql, config.keyring, tell)),
    "rebuild-counts": oneAtATime((tell) => rebuildCounts(sql, tell)),
    async snapshot(_, query) {
      const name = query.get("name") ?? "";
      if (!WORK_DIRECTORY.test(name)) throw new Error("A snapshot goes into a backup's own directory.");
      await takeSnapshot(sql, join(config.dataDir, "postgres"), join(config.dataDir, name, "database", "postgres"));
    },
  });
}
