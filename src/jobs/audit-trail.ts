import type { Deps } from "#deps";
import { indexEvents } from "#modules/people/audit/queries";
import { takeSpooledEvents } from "#modules/people/audit/services/spool";

/**
 * Writes the audit events that this process has counted and, in the first process of a server, those that the command line left. What fails
 * is kept for the next time.
 */
export async function writeAuditTrail({ denials, reads, sql, config, cluster }: Pick<Deps, "denials" | "reads" | "sql" | "config" | "cluster">) {
  const spooled = cluster.isFirst ? takeSpooledEvents(sql, config.dataDir) : undefined;
  const written = await Promise.allSettled([denials.flush(), reads.flush(), spooled]);
  const failures = written.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, "audit events could not be written; they are kept");
}

/** Events of one transaction; the embedded database does nothing else meanwhile. */
const AT_ONCE = { embedded: 1_000, postgres: 5_000 };
/** Moved events that still take place in the tail, which every list of events reads: autovacuum, where there is one, looks each minute. */
const MAX_DEAD = 50_000;

/** Returns the job that moves events from the tail, where requests write them, under their indexes, and frees their place. */
export function indexingEvents() {
  let dead = 0;
  return async ({ sql, config }: Pick<Deps, "sql"> & { config: Pick<Deps["config"], "databaseUrl"> }, signal: AbortSignal) => {
    const atOnce = config.databaseUrl ? AT_ONCE.postgres : AT_ONCE.embedded;
    for (let moved = atOnce; moved === atOnce && !signal.aborted; ) {
      moved = await indexEvents(sql, atOnce);
      dead += moved;
      if (dead < MAX_DEAD) continue;
      dead = 0;
      await sql`vacuum (skip_locked) audit_tail`;
    }
  };
}
