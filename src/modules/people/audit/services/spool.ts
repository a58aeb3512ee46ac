import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Sql } from "#db/connect";
import type { Act, PlatformEvent } from "../queries";

type Spooled = PlatformEvent & Act & { at: string };

const directoryOf = (dataDir: string) => join(dataDir, "audit-spool");

/** Keeps an event of the platform for the server, which alone opens the embedded database. */
export function spoolPlatformEvent(dataDir: string, by: Act, event: PlatformEvent) {
  const path = join(directoryOf(dataDir), Bun.randomUUIDv7());
  mkdirSync(directoryOf(dataDir), { recursive: true, mode: 0o700 });
  writeFileSync(path, JSON.stringify({ ...event, ...by, at: new Date().toISOString() } satisfies Spooled), { mode: 0o600, flag: "wx" });
  renameSync(path, `${path}.json`);
}

/** Writes the kept events into the database, each once, however often it fails in between. */
export async function takeSpooledEvents(sql: Sql, dataDir: string) {
  for (const name of namesIn(directoryOf(dataDir))) {
    const path = join(directoryOf(dataDir), name);
    const { at, actor, requestId, action, targetType, targetId, details = {} } = JSON.parse(readFileSync(path, "utf8")) as Spooled;
    await sql`
      insert into platform_audit_events (id, at, actor, action, target_type, target_id, request_id, details)
      values (${name.slice(0, -".json".length)}, ${at}, ${JSON.stringify(actor)}::jsonb, ${action}, ${targetType}, ${targetId}, ${requestId}, ${JSON.stringify(details)}::jsonb)
      on conflict do nothing`;
    rmSync(path, { force: true });
  }
}

function namesIn(directory: string) {
  try {
    return readdirSync(directory).filter((each) => each.endsWith(".json"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
