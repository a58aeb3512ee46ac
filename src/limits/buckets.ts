/** `quota` requests at once; a used-up bucket is full again after `window` seconds. */
export type Limit = { quota: number; window: number };
/** The charge of a bucket: its tokens, and the seconds until it is full again or, when it is empty, until it has one. */
export type Charge = { remaining: number; reset: number; isEmpty: boolean };

export type Buckets = ReturnType<typeof createBuckets>;

const MAX_BUCKETS = 200_000;

/**
 * Token buckets in memory, each one number: the moment when it is full again (`now` is a monotonic clock in ms). Beyond `max`
 * the least recently used buckets are dropped.
 */
export function createBuckets({ quota, window }: Limit, now: () => number, max = MAX_BUCKETS) {
  const capacity = window * 1_000;
  const interval = capacity / quota;
  const rounding = interval / 1_000;
  let young = new Map<string, number>();
  let old = new Map<string, number>();

  function remember(key: string, fullAt: number) {
    if (young.size >= max / 2 && !young.has(key)) [young, old] = [new Map(), young];
    young.set(key, fullAt);
  }

  const fullAtOf = (key: string, at: number) => Math.max(young.get(key) ?? old.get(key) ?? at, at);
  const empty = (fullAt: number, at: number) => ({ remaining: 0, reset: Math.ceil((fullAt + interval - capacity - at) / 1_000), isEmpty: true });
  const lacksOne = (fullAt: number, at: number) => fullAt + interval - at > capacity + rounding;

  /** Takes one from the bucket, if it has one. */
  function take(key: string): Charge {
    const at = now();
    const fullAt = fullAtOf(key, at);
    const isEmpty = lacksOne(fullAt, at);
    remember(key, isEmpty ? fullAt : fullAt + interval);
    if (isEmpty) return empty(fullAt, at);
    const used = fullAt + interval - at;
    return { remaining: Math.floor((capacity - used + rounding) / interval), reset: Math.ceil(used / 1_000), isEmpty };
  }

  /** Returns what `take` would say of an empty bucket; undefined where it has one. */
  function peek(key: string): Charge | undefined {
    const at = now();
    const fullAt = fullAtOf(key, at);
    return lacksOne(fullAt, at) ? empty(fullAt, at) : undefined;
  }

  /** Takes `count` at once, or what the bucket has. */
  function spend(key: string, count: number) {
    const at = now();
    remember(key, Math.min(fullAtOf(key, at) + count * interval, at + capacity));
  }

  return { take, peek, spend, size: () => young.size + old.size };
}
