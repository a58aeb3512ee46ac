import type { Cluster } from "#cluster/channel";
import type { Buckets } from "./buckets";

const SHARE_EVERY_MS = 100;

/**
 * Returns buckets that the workers of one server share: each takes from its own and reports ten times a second. A caller has
 * one limit, exceeded at most by what others grant in that tenth.
 */
export function shareBuckets(buckets: Buckets, name: string, cluster: Cluster): Buckets {
  if (cluster.worker === undefined) return buckets;
  const topic = `taken from ${name}`;
  let taken = new Map<string, number>();
  cluster.subscribe(topic, (byAnother: [key: string, count: number][]) => {
    for (const [key, count] of byAnother) buckets.spend(key, count);
  });

  function share() {
    cluster.publish(topic, [...taken]);
    taken = new Map();
  }

  function take(key: string) {
    const charge = buckets.take(key);
    if (charge.isEmpty) return charge;
    if (taken.size === 0) setTimeout(share, SHARE_EVERY_MS);
    taken.set(key, (taken.get(key) ?? 0) + 1);
    return charge;
  }

  return { ...buckets, take };
}
