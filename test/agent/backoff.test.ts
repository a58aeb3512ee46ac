import { describe, expect, test } from "bun:test";
import { backoffOf, hurriedInterval, pauseOf, retryDelay } from "#agent/backoff";

const MINUTE = 60_000;

describe("the pause between two passes", () => {
  test("is the interval, give or take a sixth", () => {
    expect([0, 0.5, 1].map((chance) => pauseOf(60_000, () => chance))).toEqual([50_000, 60_000, 70_000]);
    const pauses = Array.from({ length: 1_000 }, () => pauseOf(60_000));
    expect(Math.min(...pauses)).toBeWithin(50_000, 52_000);
    expect(Math.max(...pauses)).toBeWithin(68_000, 70_000);
  });

  test("is as long as nothing has changed while certificates are on their way: two seconds at least, the interval at most", () => {
    expect([0, 2_500, 30_000, MINUTE, 2 * MINUTE].map((since) => hurriedInterval(MINUTE, since))).toEqual([2_000, 2_500, 30_000, MINUTE, MINUTE]);
    expect(hurriedInterval(100, 0)).toBe(100);
  });
});

describe("how long a server that failed is left alone", () => {
  const longest = (failures: number, retryAfter?: number) => backoffOf({ failures, interval: MINUTE, retryAfter }, () => 0);
  const shortest = (failures: number, retryAfter?: number) => backoffOf({ failures, interval: MINUTE, retryAfter }, () => 1);

  test("the interval, then twice as long each time, up to a quarter of an hour, or up to a sixth less", () => {
    expect([1, 2, 3, 4, 5, 50].map((failures) => longest(failures) / MINUTE)).toEqual([1, 2, 4, 8, 15, 15]);
    expect([1, 5].map((failures) => shortest(failures) / MINUTE)).toEqual([5 / 6, 12.5]);
  });

  test("never less than it asked for, up to an hour", () => {
    expect([shortest(1, 5 * MINUTE), longest(1, 5 * MINUTE)]).toEqual([5 * MINUTE, 5 * MINUTE]);
    expect(longest(5, 1_000)).toBe(15 * MINUTE);
    expect(longest(1, 86_400_000)).toBe(60 * MINUTE);
  });
});

describe("how long an assignment that failed waits", () => {
  test("a minute, then twice as long each time, up to an hour", () => {
    expect([1, 2, 3, 7, 50].map((failures) => retryDelay(failures) / MINUTE)).toEqual([1, 2, 4, 60, 60]);
  });

  test("at most a thirtieth of the lifetime of the certificate that it is to replace, at the least 5 s", () => {
    expect([90 * 24 * 60, 60, 5, 1].map((minutes) => retryDelay(3, minutes * MINUTE))).toEqual([4 * MINUTE, 2 * MINUTE, MINUTE / 6, 5_000]);
  });
});
