import { join } from "node:path";
import type { Deps } from "#deps";
import { rebuildCounts } from "#modules/core/widgets/queries/counts";
import { ADMINISTRATION } from "./administration";
import { rotateSecrets } from "./rotate";
import { takeSnapshot } from "./snapshot";
import { oneAtATime, serveTasks, type Tasks } from "./socket";
import { trustForAdministrator } from "./stamping";

const WORK_DIRECTORY = /^backup-[0-9a-f]{8}$/;

/** Does for commands what only the process can do that has the embedded database. Returns what ends it. */
export function serveMaintenance({ sql, config, stamps }: Pick<Deps, "sql" | "config" | "stamps">) {
  if (config.databaseUrl) return async () => {};
  const administration: Tasks = {};
  for (const [name, change] of Object.entries(ADMINISTRATION)) administration[name] = (report, input) => change({ sql, stamps }, input as never, report);
  return serveTasks(config.dataDir, {
    ...administration,
    "rotate-secrets": oneAtATime((report) => rotateSecrets(sql, config, report)),
    "trust-rows": oneAtATime((report) => trustForAdministrator(sql, config.keyring, report)),
    "rebuild-counts": oneAtATime((report) => rebuildCounts(sql, report)),
    async snapshot(_, input) {
      const name = String(input.name);
      if (!WORK_DIRECTORY.test(name)) throw new Error("A snapshot goes into a backup's own directory.");
      await takeSnapshot(sql, join(config.dataDir, "postgres"), join(config.dataDir, name, "database", "postgres"));
    },
  });
}
