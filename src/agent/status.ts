import { unmarked } from "./host/foreign";
import type { Host } from "./host/host";
import { fingerprintOf } from "./host/pem";
import { withOwnKey } from "./keys/waiting-keys";
import { formerTargetOf, readPermitted } from "./permitted";
import { type Asking, expectRemovable, Refused } from "./policy/host-policy";
import type { Desired, Report } from "./server-client";
import { type AssignmentRecord, lastReport, type State } from "./state";
import type { Material, Target } from "./store";
import { storeOf } from "./stores/stores";

/** How one assignment stands on this host, as its store is now. */
export type Standing = {
  assignmentId: string;
  store: string;
  alias: string | null;
  commonName: string | null;
  fingerprintSha256: string | null;
  /** As `agent status --help` explains them. */
  state: "holds" | "differs" | "refused" | "pending" | "removing" | "kept";
  why: string | null;
  /** When the next attempt is due, where one failed. */
  retryAt: string | null;
};

/** A challenge of a CA that this host was asked to answer, for an order of the organization. */
export type Challenge = {
  id: string;
  state: "answered" | "unanswered";
  /** The file of the answer in a web root; none where a port of the agent's own answers. */
  file: string | null;
  since: string | null;
  why: string | null;
};

/** Returns the challenges that this host answers or was asked to answer, while their orders last. */
export const challengesOf = (state: State): Challenge[] =>
  [...state.challenges.records.values()].map(({ id, since, path, told }) => ({
    id,
    state: since === undefined ? "unanswered" : "answered",
    file: path ?? null,
    since: since === undefined ? null : new Date(since).toISOString(),
    why: told ?? null,
  }));

/**
 * Returns the standing of everything that was last desired or is not removed yet. Changes nothing, and reads no store that the
 * host's policy refuses: reading may run programs or use passwords.
 */
export async function standingsOf(state: State, asking: Asking): Promise<Standing[]> {
  const { items = [], keep = [] } = (await state.readKnown())?.state ?? {};
  const wanted = new Set(items.map(({ id }) => id));
  const rest = [...state.records.values()].filter(({ assignmentId, isRemoved }) => !wanted.has(assignmentId) && !isRemoved);
  const standings: Standing[] = [];
  for (const item of items) standings.push(await standingOf(item, state, asking));
  for (const record of rest) standings.push(leftover(record, keep.includes(record.assignmentId)));
  return standings.map(({ why, ...rest }) => ({ ...rest, why: why && unmarked(why) }));
}

async function standingOf(item: Desired, state: State, asking: Asking): Promise<Standing> {
  const { host } = asking;
  const record = state.records.get(item.id);
  const base = { ...namesOf(item), retryAt: retryOf(record) };
  try {
    const { target, sent } = await readPermitted(item, asking);
    const former = record && formerTargetOf(record, target);
    if (former) await expectRemovable(former, asking);
    const faults = await faultsOf(target, item.keyOnHost ? await withOwnKey(sent, target, undefined, { host, state }) : sent, host);
    const failure = lastFailure(record);
    if (faults.length === 0 && !failure) return { ...base, alias: target.alias, state: "holds", why: null };
    const isUntried = record === undefined || (record.certificate === undefined && !failure);
    return { ...base, alias: target.alias, state: isUntried ? "pending" : "differs", why: failure ?? faults.join("; ") };
  } catch (error) {
    return { ...base, state: error instanceof Refused ? "refused" : "differs", why: (error as Error).message };
  }
}

/** Returns what the server says of an assignment, as far as it is text: it has not been judged yet. */
function namesOf({ id: assignmentId, trustStoreType, config, commonName, fingerprintSha256 }: Desired) {
  const [store, alias, name, fingerprint] = [trustStoreType, (config as Desired["config"] | null | undefined)?.alias, commonName, fingerprintSha256].map(
    (each: unknown) => (typeof each === "string" ? each : null),
  );
  return { assignmentId, store: store ?? "unknown", alias: alias ?? null, commonName: name ?? null, fingerprintSha256: fingerprint ?? null };
}

const faultsOf = async (target: Target, material: Material, host: Host) => (await storeOf(target.storeType).observe(target, material, host)).differences;

/** Of what is desired no more. */
function leftover(record: AssignmentRecord, isKept: boolean): Standing {
  const { assignmentId, target, certificate, damage } = record;
  return {
    assignmentId,
    store: target?.storeType ?? "unknown",
    alias: target?.alias ?? null,
    commonName: null,
    fingerprintSha256: certificate ? fingerprintOf(certificate) : null,
    state: isKept ? "kept" : "removing",
    why: isKept
      ? "its certificate is revoked or retired, and config.removeOnRevoke is false"
      : (damage ?? lastFailure(record) ?? lastMessage(record, "refused") ?? null),
    retryAt: retryOf(record),
  };
}

const retryOf = (record: AssignmentRecord | undefined) => (record?.retry ? new Date(record.retry.at).toISOString() : null);

/** Why the last attempt failed; undefined where it did not. */
const lastFailure = (record: AssignmentRecord | undefined) => (record?.retry ? (record.retry.why ?? lastMessage(record, "failed")) : undefined);

/** Returns the last report's message, where that report had this state. */
function lastMessage(record: AssignmentRecord | undefined, state: Report["state"]) {
  const last = record && lastReport(record);
  return last?.state === state ? last.message : undefined;
}
