import type { Cluster } from "#cluster/channel";
import type { Config } from "#config";
import { Refusal } from "#http/errors";
import { exchangeOf } from "#http/exchange";
import type { Actor } from "#modules/people/audit/queries";
import { type Charge, createBuckets, type Limit } from "./buckets";
import { KINDS, type Kind } from "./rate-limits";
import { shareBuckets } from "./shared-buckets";

/**
 * The messages that an organization may have its channels sent besides those of its events: tests, redeliveries, and mails
 * because of them.
 */
const TRIALS: Limit = { quota: 100, window: 3_600 };
const TRIAL_MAILS: Limit = { quota: 100, window: 86_400 };

export type Limits = ReturnType<typeof createLimits>;

/** The header fields of draft-ietf-httpapi-ratelimit-headers. */
export const limitHeaders = (name: string, { quota, window }: Limit, { remaining, reset }: Pick<Charge, "remaining" | "reset">) => ({
  "ratelimit-policy": `"${name}";q=${quota};w=${window}`,
  ratelimit: `"${name}";r=${remaining};t=${reset}`,
});

const trialRefusal = (message: string, { reset }: Charge) =>
  new Refusal(429, `${message} Try again later.`, { "retry-after": String(reset) }, "too many tests and redeliveries");

/**
 * The buckets of known callers, and of addresses from which unknown ones were refused. Workers of one server count together,
 * replicas each for itself; for `now` see `createBuckets`.
 */
export function createLimits({ rateLimits }: Pick<Config, "rateLimits">, now: () => number, cluster: Cluster) {
  const lanes = new Map(
    KINDS.flatMap((kind) =>
      rateLimits[kind] ? [[kind, { limit: rateLimits[kind], buckets: shareBuckets(createBuckets(rateLimits[kind], now), kind, cluster) }] as const] : [],
    ),
  );

  function refusal(kind: Kind, limit: Limit, charge: Charge) {
    const message = `There were more than ${limit.quota} requests in ${limit.window} seconds. Try again in ${charge.reset} s.`;
    const headers = { ...limitHeaders(kind, limit, charge), "retry-after": String(charge.reset) };
    return new Refusal(429, message, headers, `the limit of this ${kind}`);
  }

  /** The caller is known: notes who it is, and takes one from its bucket, which is `key`, else its id. 429 when it is empty. */
  function charge(request: Request, caller: Actor, key = caller.id ?? "") {
    const exchange = exchangeOf(request);
    exchange.caller = caller;
    const kind = caller.type as Kind;
    const lane = lanes.get(kind);
    if (!lane) return;
    const taken = lane.buckets.take(key);
    if (taken.isEmpty) throw refusal(kind, lane.limit, taken);
    exchange.headers = limitHeaders(kind, lane.limit, taken);
  }

  /** 429 where the bucket is empty, before the database is asked who it belongs to. */
  function refuseIfEmpty(kind: Kind, key: string) {
    const lane = lanes.get(kind);
    const charge = lane?.buckets.peek(key);
    if (lane && charge) throw refusal(kind, lane.limit, charge);
  }

  /** Takes one from the bucket of an address. Returns why it is refused when it is empty. */
  function chargeAddress(network: string) {
    const lane = lanes.get("address");
    const taken = lane?.buckets.take(network);
    return lane && taken?.isEmpty ? refusal("address", lane.limit, taken) : undefined;
  }

  const trials = shareBuckets(createBuckets(TRIALS, now), "trials", cluster);
  const trialMails = shareBuckets(createBuckets(TRIAL_MAILS, now), "trial mails", cluster);

  /** Takes a test or redelivery to a channel, which is so many mails. 429 beyond what an organization may send. */
  function chargeTrial(organizationId: string, mails: number) {
    const trial = trials.take(organizationId);
    if (trial.isEmpty) throw trialRefusal(`There were more than ${TRIALS.quota} tests and redeliveries of this organization in an hour.`, trial);
    for (let mail = 0; mail < mails; mail++) {
      const taken = trialMails.take(organizationId);
      if (taken.isEmpty) throw trialRefusal(`Tests and redeliveries of this organization may send ${TRIAL_MAILS.quota} mails a day.`, taken);
    }
  }

  return { charge, refuseIfEmpty, chargeAddress, chargeTrial };
}
