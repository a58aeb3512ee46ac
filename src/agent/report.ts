import type { Logger } from "pino";
import { type Asking, disclose, type Named } from "./disclosure";
import { sentenceOf } from "./host/foreign";
import { fingerprintOf } from "./host/pem";
import type { Refused } from "./policy/host-policy";
import type { HostFacts, Report, ServerClient } from "./server-client";
import { type AssignmentRecord, noteReport, type State, timelessJson } from "./state";
import type { Material } from "./store";
import { Unreachable } from "./transport";

/** The result of an assignment, in words for this host; undefined where nothing was tried. */
export type Result = Omit<Report, "assignmentId" | "observedAt"> | undefined;

const MAX_MESSAGE = 1_000;

export const installed = ({ fingerprint }: Material): NonNullable<Result> => ({ state: "installed", observedFingerprint: fingerprint });

export const healed = (material: Material, differences: string[]): NonNullable<Result> => ({
  ...installed(material),
  state: "drifted",
  message: oneLine(`Found and healed: ${differences.join("; ")}`),
});

export const removed = (): NonNullable<Result> => ({ state: "removed" });

/** The report for a store that still trusts a removed certificate. */
export const kept = (why: string): NonNullable<Result> => ({ state: "kept", message: oneLine(why) });

export const observed = (pem: string | undefined) => (pem ? { observedFingerprint: fingerprintOf(pem) } : {});

/** An attempt that failed, and what that has led to. */
export function failed(error: Error, log: Logger, consequence = ""): NonNullable<Result> {
  const reason = sentenceOf(error) + consequence;
  log.error({ reason }, "failed");
  return { state: "failed", message: oneLine(reason) };
}

/** The host's policy does not permit it; the log has the command that would, whole. */
export function refused({ message, consent }: Refused, log: Logger): NonNullable<Result> {
  log.error({ reason: message, consent }, "refused by the policy of this host");
  return { state: "refused", message: oneLine(message) };
}

/** Returns true for what was tried, and did not come about. */
export const isUnsuccessful = (result: Result) => result?.state === "failed" || result?.state === "refused";

type Noting = Asking & {
  clock: () => Date;
  /** The texts that the server has named, by assignment. */
  named?: ReadonlyMap<string, Named>;
};

/** Adds a report of what became of an assignment. Returns false where it repeats the last one. */
export function noteResult(record: AssignmentRecord, { message, ...result }: NonNullable<Result>, work: Noting) {
  const named = work.named?.get(record.assignmentId) ?? [record.target];
  return noteReport(record, { ...result, ...(message !== undefined && { message: reportable(message, named, work) }) }, work.clock());
}

/** Returns a message as it is reported to the server. */
export const reportable = (message: string, named: Named, asking: Asking) => oneLine(disclose(message, named, asking));

/** Returns a message that the server takes: one line of plain text, at most 1,000 characters. */
function oneLine(text: string) {
  const line = text.replace(/[\p{Cc}\p{Cs}]+/gu, " ").trim();
  return line.length > MAX_MESSAGE ? `${line.slice(0, MAX_MESSAGE - 2).toWellFormed()} …` : line || "It failed without a message.";
}

type Reporter = { state: State; client: ServerClient; log: Logger };

/**
 * Delivers the oldest report of each assignment, then the next, until none is left. Returns why the server was not reached, if
 * it was not.
 */
export async function deliverReports({ state, client, log }: Reporter, host: HostFacts | undefined): Promise<{ unreachable?: Unreachable }> {
  try {
    for (let facts = host; ; facts = undefined) {
      const waiting = [...state.records.values()].filter(({ reports }) => reports.length > 0);
      if (waiting.length === 0 && !facts) break;
      const reports = waiting.flatMap(({ reports }) => reports.slice(0, 1));
      const refused = await client.deliver(reports, facts);
      if (refused.length > 0) log.info({ assignments: refused.map(({ assignmentId }) => assignmentId) }, "the server does not take reports of them");
      for (const record of waiting) await acknowledge(state, record);
    }
    return {};
  } catch (error) {
    if (!(error instanceof Unreachable)) throw error;
    log.warn({ reason: error.message }, "the reports are kept until the server can be reached");
    return { unreachable: error };
  }
}

async function acknowledge(state: State, record: AssignmentRecord) {
  const [delivered, ...rest] = record.reports;
  if (delivered) record.lastAcknowledged = timelessJson(delivered);
  record.reports = rest;
  if (record.isRemoved && rest.length === 0 && delivered?.state === "removed") await state.forget(record.assignmentId);
  else await state.save(record);
}
