import type { Deps } from "#deps";
import { findConnection } from "#modules/core/connectors/queries";
import type { Outcome } from "#modules/core/connectors/rules/outcome";
import { attempt, type DeliveryDeps, urlOf } from "#modules/core/connectors/services/attempt";
import type { Reach } from "#modules/core/connectors/services/http";
import type { Take } from "#modules/platform/jobs/rules";
import { send } from "#outbound/http-client";
import {
  type Claim,
  claimChannel,
  type DueDelivery,
  forgetDeliveries,
  recordFailingChannels,
  releaseChannel,
  saveDelivered,
  saveFinal,
  saveRetry,
  takeDelivery,
} from "../queries/channels";
import { waitAfter } from "../rules/backoff";

/** The time for which one channel is delivered to before others that are due have its place, but for the attempt at hand. */
const SERVE_MS = 20_000;
const FORGOTTEN_AT_ONCE = 5_000;

type Services = Pick<Deps, "sql" | "stamps" | "config" | "log" | "clock">;

/**
 * Returns the work that delivers to the channels that fail, or to the others, one delivery of each after the other. It takes
 * over the channels of a killed server.
 */
export function delivering({ sql, stamps, config, log, clock }: Services, { isFailing, reach = send }: { isFailing: boolean; reach?: Reach }): Take {
  const needs: DeliveryDeps = { config, stamps, clock, reach };

  /** Delivers to one channel until nothing is due or it fails. */
  async function serve(claimed: Claim, stopping: AbortSignal) {
    const signal = AbortSignal.any([stopping, AbortSignal.timeout(SERVE_MS)]);
    let claim = claimed;
    let restMs = 0;
    while (!signal.aborted && restMs === 0) {
      const taken = await takeDelivery(sql, claim);
      if (!taken) return;
      claim = { ...claim, until: taken.until };
      if (!taken.waiting) break;
      restMs = await deliver(claim, taken.waiting);
      if (restMs === 0) claim.failures = 0;
    }
    await releaseChannel(sql, claim, restMs);
  }

  /** Makes one attempt. Returns how long the channel is to rest. */
  async function deliver(
    { organizationId, connectionId, failures }: Claim,
    { id, content, incidentKey, isResolve, recipientsDone, tries, organizationName }: DueDelivery,
  ) {
    const message = {
      ...content,
      id,
      organization: { id: organizationId, name: organizationName },
      url: urlOf(config, content.link),
      incident: incidentKey === null ? undefined : { key: incidentKey, isResolved: isResolve },
      isTest: false,
    };
    const connection = await findConnection(sql, organizationId, connectionId);
    const { outcome, done } = await attempt(needs, { organizationId, connectionId, connection, message, done: recipientsDone });
    const about = {
      organizationId,
      connectionId,
      id,
      status: outcome.status,
      reason: outcome.state === "failed" ? outcome.reason : null,
      recipientsDone: done,
    };
    report({ organizationId, connectionId, failures }, id, outcome);
    if (outcome.state === "delivered") await saveDelivered(sql, about);
    else if (outcome.isFinal) await saveFinal(sql, about);
    else {
      await saveRetry(sql, about, waitAfter(tries + 1, outcome.retryAfterMs));
      return waitAfter(failures + 1, outcome.retryAfterMs);
    }
    return 0;
  }

  /** Lines of the log: each delivery that is given up, but a channel that takes nothing only when that begins and when it ends. */
  function report({ failures, ...ids }: Omit<Claim, "until">, deliveryId: string, outcome: Outcome) {
    if (outcome.state === "delivered" && failures > 0) log.info(ids, "channel delivers again");
    if (outcome.state === "delivered") return;
    if (outcome.isFinal) log.warn({ ...ids, deliveryId, reason: outcome.reason }, "delivery given up");
    else if (failures === 0) log.warn({ ...ids, reason: outcome.reason }, "channel cannot be delivered to; deliveries wait, and are tried again for a day");
  }

  return async (room, stopping) => {
    const [claim] = await claimChannel(sql, room, { isFailing });
    if (!claim) return;
    const ids = idsOf(claim);
    const report = (err: unknown) => log.warn({ err, ...ids }, "a channel could not be served; the next try is in half a minute");
    return [{ organizationId: ids.organizationId, targetId: ids.connectionId, run: () => serve(claim, stopping).catch(report) }];
  };
}

const idsOf = ({ organizationId, connectionId }: Claim) => ({ organizationId, connectionId });

/** Records events of channels that have delivered nothing for a day, and forgets deliveries of more than 90 days ago. */
export async function tidyChannels({ sql }: Pick<Deps, "sql">, signal: AbortSignal) {
  await recordFailingChannels(sql);
  while (!signal.aborted && (await forgetDeliveries(sql, FORGOTTEN_AT_ONCE)) === FORGOTTEN_AT_ONCE);
}
