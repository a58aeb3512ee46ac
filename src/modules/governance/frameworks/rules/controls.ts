import type { STATUSES as CERTIFICATE_STATUSES } from "#modules/certificates/certificates/schema/certificates";

export const STATUSES = ["not_started", "in_progress", "implemented", "not_applicable"] as const;
export type ControlStatus = (typeof STATUSES)[number];

/** The place of evidence: an address, or a certificate of the organization. */
type Evidence = { title: string; url?: string; certificateId?: string };
/** As a control shows it: a certificate with its status at this moment. */
export type ShownEvidence = Evidence & { certificateStatus?: (typeof CERTIFICATE_STATUSES)[number] };
export type ControlState = { status: ControlStatus; note: string | null; evidence: Evidence[]; ownerId: string | null; dueDate: string | null };
export type ControlChange = { status: ControlStatus } & { [Field in keyof Omit<ControlState, "status">]?: ControlState[Field] };

export const UNTOUCHED: ControlState = { status: "not_started", note: null, evidence: [], ownerId: null, dueDate: null };

/** Returns the fault of the change by itself, as a sentence. */
export function findFault({ evidence = [] }: ControlChange) {
  const index = evidence.findIndex((each) => (each.url === undefined) === (each.certificateId === undefined));
  if (index >= 0) return `body.evidence.${index} must have either a url or a certificateId.`;
}

/** The control after the change; what the change does not name stays as it is. A status that nothing supports yet is `invalid`. */
export function applyChange(state: ControlState, change: ControlChange): ControlState | { invalid: string } {
  const next = { ...state, ...change };
  if (next.status === "implemented" && next.note === null && next.evidence.length === 0)
    return { invalid: "body.status can be implemented only with evidence or a note: send one, or store it first." };
  if (next.status === "not_applicable" && next.note === null)
    return { invalid: "body.status can be not_applicable only with a note that says why: send one, or store it first." };
  return next;
}

/** How far a framework is: whole percent of the applicable controls that are implemented, 100 only when all are. */
export function summarize(statuses: ControlStatus[]) {
  const counts = { not_started: 0, in_progress: 0, implemented: 0, not_applicable: 0 };
  for (const status of statuses) counts[status]++;
  const applicable = statuses.length - counts.not_applicable;
  return { total: statuses.length, counts, percent: applicable === 0 ? 100 : Math.floor((100 * counts.implemented) / applicable) };
}

/** `owner` is the id of a user, or `none`; `due` a day. */
export type ControlFilter = { status?: ControlStatus | undefined; owner?: string | undefined; due?: string | undefined };

/** True for a control that the list is asked for; `due` names those that are due on that day or before it. */
export function isAskedFor({ status, ownerId, dueDate }: ControlState, asked: ControlFilter) {
  if (asked.status !== undefined && status !== asked.status) return false;
  if (asked.owner !== undefined && (ownerId ?? "none") !== asked.owner) return false;
  return asked.due === undefined || (dueDate !== null && dueDate <= asked.due);
}
