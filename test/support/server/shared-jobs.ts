import type { Deps } from "#deps";
import { createPlaces } from "#jobs/places";
import { JOBS } from "#jobs/table";
import type { Take } from "#modules/platform/jobs/rules";

/**
 * One turn of jobs that call others, and all the work that it begins, as a server of its own does it. `sourceOf` is what a test
 * puts in the place of their own.
 */
export async function runShared(names: string[], deps: Deps, signal = new AbortController().signal, sourceOf?: (name: string) => Take) {
  const runs = JOBS.flatMap((job) => ("shares" in job && names.includes(job.name) ? [job] : [])).map(async ({ name, shares, source }) => {
    const places = createPlaces(shares);
    await places.fill(sourceOf?.(name) ?? source(deps), signal);
    await places.empty();
  });
  await Promise.all(runs);
}

export const ISSUING = ["issue-certificates", "issue-own-certificates"];
export const DELIVERING = ["deliver-notifications", "deliver-to-failing-channels"];
