import type { ControlState } from "./types";

const UNTOUCHED: ControlState = { status: "not_started", note: null, evidence: [], ownerId: null, dueDate: null };
const words = (status: string) => status.replaceAll("_", " ");

/** Returns the differences that a change of a control made, in a few words each. */
export function describeChange(after: ControlState, before: ControlState = UNTOUCHED, nameOf: (id: string) => string = String): string[] {
  const parts: string[] = [];
  if (after.status !== before.status) parts.push(`${words(before.status)} → ${words(after.status)}`);
  if (after.ownerId !== before.ownerId) parts.push(after.ownerId === null ? "owner removed" : `owner ${nameOf(after.ownerId)}`);
  if (after.dueDate !== before.dueDate) parts.push(after.dueDate === null ? "date removed" : `due ${after.dueDate}`);
  if (after.note !== before.note) parts.push(after.note === null ? "note removed" : before.note === null ? "note written" : "note changed");
  if (JSON.stringify(after.evidence) !== JSON.stringify(before.evidence)) parts.push(describeEvidence(after.evidence.length - before.evidence.length));
  return parts.length === 0 ? ["saved as it was"] : parts;
}

function describeEvidence(more: number) {
  if (more === 0) return "evidence changed";
  return more > 0 ? `${more} evidence added` : `${-more} evidence removed`;
}
