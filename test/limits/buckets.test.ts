import { describe, expect, test } from "bun:test";
import { networkOf } from "#auth/cidr";
import { createBuckets } from "#limits/buckets";
import { readRateLimits } from "#limits/rate-limits";

/** Buckets with a clock that the test sets. */
function withClock(quota: number, window: number, max?: number) {
  const time = { now: 1_000_000 };
  return { time, ...createBuckets({ quota, window }, () => time.now, max) };
}

describe("a token bucket", () => {
  test("has its quota at once, then one more in each part of the window", () => {
    const { time, take } = withClock(3, 60);
    expect([take("a"), take("a"), take("a")]).toEqual([
      { remaining: 2, reset: 20, isEmpty: false },
      { remaining: 1, reset: 40, isEmpty: false },
      { remaining: 0, reset: 60, isEmpty: false },
    ]);
    expect(take("a")).toEqual({ remaining: 0, reset: 20, isEmpty: true });
    time.now += 19_000;
    expect(take("a")).toEqual({ remaining: 0, reset: 1, isEmpty: true });
    time.now += 1_000;
    expect(take("a")).toMatchObject({ remaining: 0, isEmpty: false });
    expect(take("a").isEmpty).toBe(true);
  });

  test("is full again after a window, and never holds more", () => {
    const { time, take } = withClock(3, 60);
    for (let count = 0; count < 5; count++) take("a");
    time.now += 600_000;
    expect([take("a"), take("a"), take("a"), take("a")].map((each) => each.isEmpty)).toEqual([false, false, false, true]);
  });

  test("is each key's own, and peek takes nothing", () => {
    const { take, peek } = withClock(1, 60);
    expect(peek("a")).toBeUndefined();
    take("a");
    expect(peek("a")).toEqual({ remaining: 0, reset: 60, isEmpty: true });
    expect([take("b").isEmpty, take("a").isEmpty]).toEqual([false, true]);
  });

  test.each([
    [6_000, 60],
    [7, 3],
    [1_000_000, 60],
  ])("with %d in %d s has exactly so many, whatever the rounding", (quota, window) => {
    const { take } = withClock(quota, window);
    for (let count = 0; count < quota; count++) if (take("a").isEmpty) throw new Error(`empty after ${count}`);
    expect(take("a").isEmpty).toBe(true);
  });

  test("stays empty while it is asked, however many others come; memory is bounded", () => {
    const { take, size } = withClock(1, 60, 1_000);
    take("busy");
    for (let index = 0; index < 100_000; index++) {
      take(`other ${index}`);
      if (index % 100 === 0) expect(take("busy").isEmpty).toBe(true);
    }
    expect(size()).toBeLessThanOrEqual(1_000);
  });
});

describe("the network of an address", () => {
  test.each([
    ["192.0.2.7", "192.0.2.7"],
    ["::ffff:192.0.2.7", "192.0.2.7"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["2001:db8:1:2::", "2001:db8:1:2::/64"],
    ["::1", "::/64"],
    ["fe80::1%eth0", "fe80::/64"],
    ["unknown", "unknown"],
  ])("of %s is %s", (address, network) => {
    expect(networkOf(address)).toBe(network);
  });
});

describe("RATE_LIMITS", () => {
  test("names some limits, or turns all off", () => {
    const { limits } = readRateLimits(" user=10/1, address=off ");
    expect(limits).toMatchObject({ user: { quota: 10, window: 1 }, address: undefined, agent: { quota: 600, window: 60 } });
    expect(Object.values(readRateLimits("off").limits)).toEqual([undefined, undefined, undefined, undefined, undefined, undefined]);
    expect(readRateLimits(undefined)).toEqual(readRateLimits(""));
  });

  test.each(["users=1/1", "user=0/60", "user=10", "user=10/0", "user=-1/60", "on", "user=1e3/60", "__proto__=1/1"])("%s is unreadable", (text) => {
    expect(readRateLimits(text).unreadable).toEqual([text]);
  });
});
