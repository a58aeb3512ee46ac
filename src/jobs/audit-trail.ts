import type { Deps } from "#deps";
import { takeSpooledEvents } from "#modules/people/audit/services/spool";

/** Writes the audit events that this process has counted and, in the first process of a server, those that the command line left. What fails is kept for the next time. */
export async function writeAuditTrail({ denials, reads, sql, config, cluster }: Pick<Deps, "denials" | "reads" | "sql" | "config" | "cluster">) {
  const spooled = cluster.isFirst ? takeSpooledEvents(sql, config.dataDir) : undefined;
  const written = await Promise.allSettled([denials.flush(), reads.flush(), spooled]);
  const failures = written.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
  if (failures.length > 0) throw new AggregateError(failures, "audit events could not be written; they are kept");
}
