import { compileSelector } from "#labels/selector";
import { readNewAssignment } from "#modules/fleet/assignments/rules";
import type { NewRing, NewRollout } from "./schema";

/** As it is stored; without a selector it takes every agent. */
type Ring = { selector: string | null; share: number };
export type CompiledRing = Ring & { path: string | undefined };

/** The rings with their selectors as jsonpath, or what is wrong with one of them. */
export function readRings(given: NewRing[]): { rings: CompiledRing[] } | { invalid: string } {
  const rings: CompiledRing[] = [];
  for (const [index, { selector = null, share = 1 }] of given.entries()) {
    const compiled = selector === null ? { path: undefined } : compileSelector(selector);
    if ("fault" in compiled) return { invalid: `body.rings.${index}.selector ${compiled.fault}.` };
    rings.push({ selector, share, path: compiled.path });
  }
  return { rings };
}

/** The rings as they are stored, in JSON. */
export const askedOf = (rings: CompiledRing[]) => JSON.stringify(rings.map(({ selector, share }): Ring => ({ selector, share })));

/** The sentence about an assignment's own body, where it is the `assignment` of another. */
export const atAssignment = (sentence: string) => sentence.replaceAll("body.", "body.assignment.");

/** Returns each agent's assignment with its defaults, and the rings; or the faults of the body itself. */
export function readNewRollout({ assignment, rings }: NewRollout) {
  const read = readNewAssignment(assignment);
  if ("invalid" in read) return { invalid: atAssignment(read.invalid) };
  const { enabled: _, certificateId, ...template } = read;
  const compiled = readRings(rings);
  return "invalid" in compiled ? compiled : { certificateId, template, rings: compiled.rings };
}
export type Template = Exclude<ReturnType<typeof readNewRollout>, { invalid: string }>["template"];

/** The present content of a ring, counted in agents; there may be none left. */
type Count = { ring: number; agents: number; observed: number; failed: number };

/** All that decides how a rollout goes on. `counts` names the rings that have steps, in their order. */
export type Progress = {
  status: "running" | "halted" | "completed" | "rolling_back" | "rolled_back";
  openRing: number;
  /** Null: nothing halts it, because it has no one who would resume it. */
  haltShare: number | null;
  successShare: number;
  /** True when the certificate is neither revoked nor retired. */
  isActive: boolean;
  counts: Count[];
  rotation: Rotation | null;
};

/** How far the successor is; counted in assignments. */
type Rotation = {
  /** True when the predecessor is revoked or retired. */
  isReplaced: boolean;
  retireShare: number | null;
  isReached: boolean;
  isHeld: boolean;
  predecessorId: string;
  total: number;
  observed: number;
};

/** The next action; the audit trail has the same name for it. */
export type Event =
  | { action: "halted"; reason: string }
  | { action: "ring-opened"; ring: number }
  | { action: "completed" | "share-reached" | "share-lost" }
  | { action: "predecessor-retired"; predecessorId: string };

const INACTIVE = "The certificate was revoked or retired, so no agent installs it.";

/** One thing at a time; undefined while there is nothing to do but wait. */
export function nextEvent({ status, openRing, haltShare, successShare, isActive, counts, rotation }: Progress): Event | undefined {
  if (status !== "running") return;
  if (!isActive) return haltShare === null ? { action: "completed" } : { action: "halted", reason: INACTIVE };
  const open = counts.filter((each) => each.ring <= openRing);
  const limit = haltShare ?? Number.POSITIVE_INFINITY;
  const failing = open.find(({ agents, failed }) => failed > 0 && failed / agents >= limit);
  if (failing) return { action: "halted", reason: describeFailures(failing, limit) };
  const isDone = open.every(({ agents, observed }) => agents === 0 || observed / agents >= successShare);
  const next = counts.find((each) => each.ring > openRing);
  if (isDone && next) return { action: "ring-opened", ring: next.ring };
  if (isDone && (!rotation || rotation.isReplaced)) return { action: "completed" };
  if (rotation) return nextOfRotation(rotation, next === undefined);
}

function nextOfRotation({ isReplaced, retireShare, isReached, isHeld, predecessorId, total, observed }: Rotation, isWhollyOpen: boolean): Event | undefined {
  if (isReplaced || retireShare === null) return;
  const reaches = isWhollyOpen && total > 0 && observed / total >= retireShare;
  if (reaches !== isReached) return { action: reaches ? "share-reached" : "share-lost" };
  if (reaches && isHeld) return { action: "predecessor-retired", predecessorId };
}

const describeFailures = ({ ring, agents, failed }: Count, haltShare: number) =>
  `In ring ${ring}, ${failed} of ${agents} agents report failed, and the rollout halts at a share of ${haltShare}.`;
