import type { Logger } from "pino";
import { STATES } from "#modules/fleet/assignments/schema/history";
import { writeAtomically } from "./host/files";
import type { Pass } from "./pass";
import { lastReport, type State } from "./state";

/** A reader such as node_exporter runs as another user. */
const MODE = 0o644;

/**
 * Returns a function that writes the results of each pass to a file for node_exporter's textfile collector. A write error is
 * logged; without a path it does nothing.
 */
export function createMetricsFile(path: string | undefined, state: State, log: Logger) {
  let lastContact = 0;
  return async ({ failed }: Pass, hasReachedServer: boolean) => {
    if (path === undefined) return;
    const now = Math.floor(Date.now() / 1_000);
    if (hasReachedServer) lastContact = now;
    const text = describe(countStates(state), { failed, now, lastContact });
    const own = { mode: MODE, uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
    await writeAtomically(path, text, own).catch(({ message }: Error) => log.warn({ reason: message }, "the metrics file cannot be written"));
  };
}

/** How many assignments were last reported in each state. */
function countStates({ records }: State) {
  const counts = new Map<string, number>(STATES.map((state) => [state, 0]));
  for (const record of records.values()) {
    const reported = record.isRemoved ? undefined : lastReport(record)?.state;
    if (reported) counts.set(reported, (counts.get(reported) ?? 0) + 1);
  }
  return counts;
}

type Times = { failed: number; now: number; lastContact: number };

const describe = (counts: Map<string, number>, { failed, now, lastContact }: Times) => `\
# HELP certitude_agent_assignments Assignments of this host, by the state that was last reported.
# TYPE certitude_agent_assignments gauge
${Array.from(counts, ([state, count]) => `certitude_agent_assignments{state="${state}"} ${count}\n`).join("")}\
# HELP certitude_agent_last_pass_failed Assignments that failed or were refused in the last pass.
# TYPE certitude_agent_last_pass_failed gauge
certitude_agent_last_pass_failed ${failed}
# HELP certitude_agent_last_pass_timestamp_seconds When the last pass ended.
# TYPE certitude_agent_last_pass_timestamp_seconds gauge
certitude_agent_last_pass_timestamp_seconds ${now}
# HELP certitude_agent_last_contact_timestamp_seconds When a pass last reached the server; 0 before the first time since the start.
# TYPE certitude_agent_last_contact_timestamp_seconds gauge
certitude_agent_last_contact_timestamp_seconds ${lastContact}
`;
