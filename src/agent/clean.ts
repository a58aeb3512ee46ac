import { join } from "node:path";
import { inTurns, recoverInterrupted, type Work } from "./attempt";
import { createListeners } from "./challenges/listeners";
import { forgetUnasked } from "./challenges/show";
import { runHooks } from "./hooks/hooks";
import { removeFile } from "./host/files";
import { forgetKey } from "./keys/waiting-keys";
import { removeAssignment } from "./remove";
import type { Result } from "./report";
import type { AssignmentRecord } from "./state";

/** The outcome of cleaning one assignment's store. */
export type Cleaned = { assignmentId: string; store: string; alias: string } & NonNullable<Result>;

/**
 * Removes all that this host's agent has installed, by its own records. The record of a clean store is forgotten; one that
 * failed stays, to be tried again.
 */
export async function removeEverything(stateDirectory: string, work: Work): Promise<Cleaned[]> {
  const records = [...work.state.records.values()];
  const cleaned = (await inTurns(work, (each) => records.map((record) => () => removeOne(record, each)))).flatMap((one) => one ?? []);
  await runHooks(records, work);
  for (const key of work.state.keys.records.values()) await forgetKey(key, work);
  await forgetUnasked(new Set(), { ...work, listeners: createListeners() });
  if (!cleaned.some(isLeft)) await removeFile(join(stateDirectory, "desired-state.json"));
  return cleaned;
}

async function removeOne(record: AssignmentRecord, work: Work): Promise<Cleaned | undefined> {
  const { assignmentId, target, isRemoved } = record;
  await recoverInterrupted(record, work);
  const result = isRemoved ? { state: "removed" as const } : await removeAssignment(record, work);
  if (!result) return undefined;
  if (!isLeft(result)) await work.state.forget(assignmentId);
  return { assignmentId, store: target?.storeType ?? "unknown", alias: target?.alias ?? "", ...result };
}

/** Returns whether the certificate is still there: it could not be removed, or this host's policy forbids that. */
export const isLeft = ({ state }: NonNullable<Result>) => state === "failed" || state === "refused";
