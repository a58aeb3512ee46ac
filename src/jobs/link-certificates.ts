import type { Deps } from "#deps";
import { linkChains, takePendingLinks } from "#modules/certificates/certificates/queries/chains";
import { EACH_MINUTE, type QueuedJob, type Work } from "./queue";

export const linking: QueuedJob = {
  name: "link-certificates",
  schedule: EACH_MINUTE,
  options: { retryLimit: 0, expireInSeconds: 3_600, heartbeatSeconds: 15 },
};

/**
 * Links what no import has linked: what was cut off, what an older release stored, and what lay unlinked before an upgrade. Servers share
 * the work.
 */
export const linkCertificates =
  (deps: Pick<Deps, "sql">): Work<object> =>
  async (_, signal) => {
    for (let taken = await takePendingLinks(deps.sql); taken.length > 0; taken = await takePendingLinks(deps.sql))
      for (const { organizationId, ids } of taken) await linkChains(deps.sql, organizationId, ids, signal);
  };
