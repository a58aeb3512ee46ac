import type { Deps } from "#deps";
import { takeSpooledEvents } from "#modules/people/audit/services/spool";

const EVERY = 5_000;
/** The longest that the end of the server waits for a database that is away. */
const FLUSH_TIMEOUT_MS = 5_000;

/** Writes the counted audit events every five seconds, and one worker those that the command line left. Returns how to stop: what is left is written first. */
export function keepAuditTrail({ denials, reads, sql, config, log, cluster }: Pick<Deps, "denials" | "reads" | "sql" | "config" | "log" | "cluster">) {
  async function takeSpooled() {
    if (!cluster.runsJobs) return;
    await takeSpooledEvents(sql, config.dataDir).catch((err) => log.warn({ err }, "writing audit events of the command line failed, retrying"));
  }
  const write = () => Promise.all([denials.flush(), reads.flush(), takeSpooled()]);
  const timer = setInterval(write, EVERY);
  void takeSpooled();
  return async () => {
    clearInterval(timer);
    await Promise.race([write(), Bun.sleep(FLUSH_TIMEOUT_MS)]);
  };
}
