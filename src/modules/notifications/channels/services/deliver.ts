import type { Deps } from "#deps";
import { send } from "#outbound/http-client";
import {
  type Claim,
  claimChannels,
  findConnection,
  forgetDeliveries,
  releaseChannel,
  saveDelivered,
  saveFinal,
  saveRetry,
  takeDelivery,
  tellFailing,
  type Waiting,
} from "../queries/channels";
import { backoff } from "../rules/backoff";
import type { Outcome } from "../rules/outcome";
import { attempt, type Needs, urlOf } from "./attempt";
import type { Reach } from "./http";

/** Channels that one server delivers to at once: so many that deliver, and as many that fail, which may take all the time that an attempt has. */
const AT_ONCE = 8;
/** How often channels are looked for that have become due meanwhile, and how long a turn of the job goes on, but for the attempts at hand. */
const LOOK_MS = 500;
const TURN_MS = 20_000;
const FORGOTTEN_AT_ONCE = 5_000;

type Services = Pick<Deps, "sql" | "config" | "log" | "clock">;

/**
 * Delivers what waits for channels: of each channel one after the other, of many channels some at once. A channel that fails rests, longer
 * each time, so that what waits for it costs one attempt and not one each. What a killed server had is taken over once its claim ends.
 */
export async function deliverDue({ sql, config, log, clock }: Services, stopping: AbortSignal, reach: Reach = send) {
  const needs: Needs = { config, clock, reach };
  const signal = AbortSignal.any([stopping, AbortSignal.timeout(TURN_MS)]);
  const failing = new Set<Promise<void>>();
  const delivering = new Set<Promise<void>>();

  /** Takes channels that are due, and begins to deliver to them. Returns how many. */
  async function begin(isFailing: boolean, runs: Set<Promise<void>>) {
    if (signal.aborted || runs.size >= AT_ONCE) return 0;
    const claims = await claimChannels(sql, { isFailing, limit: AT_ONCE - runs.size });
    for (const claim of claims) {
      const run: Promise<void> = serve(claim)
        .catch((err) => log.warn({ err, ...idsOf(claim) }, "a channel could not be served; the next try is in half a minute"))
        .finally(() => runs.delete(run));
      runs.add(run);
    }
    return claims.length;
  }

  /** Delivers to one channel until nothing is due or it fails. */
  async function serve(claimed: Claim) {
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
    { id, content, incidentKey, isResolve, recipientsDone, tries, organizationName }: Waiting,
  ) {
    const told = {
      ...content,
      id,
      organization: { id: organizationId, name: organizationName },
      url: urlOf(config, content.link),
      incident: incidentKey === null ? undefined : { key: incidentKey, isResolved: isResolve },
      isTest: false,
    };
    const connection = await findConnection(sql, organizationId, connectionId);
    const { outcome, done } = await attempt(needs, { organizationId, connectionId, connection, told, done: recipientsDone });
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
      await saveRetry(sql, about, backoff(tries + 1, outcome.retryAfterMs));
      return backoff(failures + 1, outcome.retryAfterMs);
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

  try {
    for (;;) {
      const begun = (await begin(false, delivering)) + (await begin(true, failing));
      const running = [...delivering, ...failing];
      if (signal.aborted || begun + running.length === 0) break;
      if (running.length > 0) await Promise.race([Bun.sleep(LOOK_MS), ...running]);
    }
  } finally {
    await Promise.all([...delivering, ...failing]);
  }
}

const idsOf = ({ organizationId, connectionId }: Claim) => ({ organizationId, connectionId });

/** Tells admins of channels that have delivered nothing for a day, and forgets deliveries of more than 90 days ago. */
export async function tidyChannels({ sql }: Pick<Deps, "sql">, signal: AbortSignal) {
  await tellFailing(sql);
  while (!signal.aborted && (await forgetDeliveries(sql, FORGOTTEN_AT_ONCE)) === FORGOTTEN_AT_ONCE);
}
