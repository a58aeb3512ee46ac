import type { Deps, Handle } from "#deps";
import { forgetReports, forgetting } from "./forget-reports";
import { indexDocument, indexing, indexingFailed, reportFailure } from "./index-document";
import { linkCertificates, linking } from "./link-certificates";
import { reconcileRollouts, reconciling } from "./reconcile-rollouts";
import { giveUpMail, MAILS_AT_ONCE, mailFailed, mailing, reportMailServer, sendMail } from "./send-mail";
import { sweeping, sweepObjects } from "./sweep-objects";

/** Makes the queues, so that requests may add to them; those for dead letters come before those that name them. */
export const prepareJobs = ({ queue }: Pick<Deps, "queue">) =>
  queue.start([indexingFailed, indexing, sweeping, reconciling, linking, forgetting, mailFailed, mailing]);

/** Begins to work. Indexing hands its chunks to the application, as any worker does, but without the network. */
export async function runJobs(deps: Deps, handle: Handle) {
  await deps.queue.work(indexing.name, indexDocument(deps, handle));
  await deps.queue.work(indexingFailed.name, reportFailure(deps));
  await deps.queue.work(sweeping.name, sweepObjects(deps));
  await deps.queue.work(reconciling.name, reconcileRollouts(deps));
  await deps.queue.work(linking.name, linkCertificates(deps));
  await deps.queue.work(forgetting.name, forgetReports(deps));
  await deps.queue.work(mailing.name, sendMail(deps), MAILS_AT_ONCE);
  await deps.queue.work(mailFailed.name, giveUpMail(deps));
  void reportMailServer(deps); // one that is away keeps nothing from starting
}
