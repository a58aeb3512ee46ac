import type { Server } from "bun";
import type { Deps } from "#deps";
import { indexDocument, indexing, indexingFailed, reportFailure } from "./index-document";
import { linkCertificates, linking } from "./link-certificates";
import { reconcileRollouts, reconciling } from "./reconcile-rollouts";
import { sweeping, sweepObjects } from "./sweep-objects";

/** Makes the queues, so that requests may add to them; those for dead letters come before those that name them. */
export const prepareJobs = ({ queue }: Pick<Deps, "queue">) => queue.start([indexingFailed, indexing, sweeping, reconciling, linking]);

/** Begins to work. Indexing speaks to `server` like any other worker. */
export async function runJobs(deps: Deps, server: Server<undefined>) {
  await deps.queue.work(indexing.name, indexDocument(deps, ownUrl(server)));
  await deps.queue.work(indexingFailed.name, reportFailure(deps));
  await deps.queue.work(sweeping.name, sweepObjects(deps));
  await deps.queue.work(reconciling.name, reconcileRollouts(deps));
  await deps.queue.work(linking.name, linkCertificates(deps));
}

/** Where this process reaches itself: one that listens everywhere listens on loopback too. */
function ownUrl({ url }: Server<undefined>) {
  const own = new URL(url);
  if (own.hostname === "0.0.0.0") own.hostname = "127.0.0.1";
  if (own.hostname === "[::]") own.hostname = "[::1]";
  return own;
}
