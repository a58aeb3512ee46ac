import { describe, expect, test } from "bun:test";
import { nextOf, type State, waitAfter } from "#modules/issuance/requests/rules/next";

const NOW = new Date("2030-01-01T12:00:00Z");
const after = (ms: number) => new Date(NOW.getTime() + ms);
const state = (rest: Partial<State> = {}): State => ({
  status: "validating",
  attempts: 0,
  failingSince: null,
  issuerFailures: 0,
  replacedLifetimeMs: null,
  ...rest,
});
const retry = { to: "retry", reason: "It is away.", at: NOW } as const;

test("the backoff doubles from 30 s to an hour, never below what is asked for, and a quarter more at most", () => {
  expect([1, 2, 3, 8, 9, 1_000].map((failures) => waitAfter(failures, 0, 0))).toEqual([30_000, 60_000, 120_000, 3_600_000, 3_600_000, 3_600_000]);
  expect(waitAfter(1, 7_200_000, 0)).toBe(7_200_000);
  expect(waitAfter(1, 7_200_000, 1)).toBe(9_000_000);
});

describe("nextOf", () => {
  test("a step forward is kept, ends failures, and the next is due when the driver says", () => {
    const step = { to: "issuing", progress: { order: 1 }, againAt: after(5_000) } as const;
    expect(nextOf(state(), step, NOW, 0)).toEqual({ status: "issuing", reason: null, progress: { order: 1 }, waitMs: 5_000, isFailure: false });
    expect(nextOf(state(), { ...step, againAt: after(-5_000), reason: "Soon." }, NOW, 0)).toMatchObject({ waitMs: 0, reason: "Soon." });
  });

  test("a failure for good ends it", () => {
    expect(nextOf(state(), { to: "failed", reason: "No." }, NOW, 0)).toMatchObject({ status: "failed", reason: "No." });
  });

  test("a fault that may pass keeps the status, and waits longer each time", () => {
    expect(nextOf(state(), retry, NOW, 0)).toEqual({ status: "validating", reason: "It is away.", progress: undefined, waitMs: 30_000, isFailure: true });
    expect(nextOf(state({ attempts: 3, failingSince: after(-60_000) }), { ...retry, progress: { a: 1 } }, NOW, 1)).toMatchObject({
      progress: { a: 1 },
      waitMs: 300_000,
    });
  });

  test("never before what the issuer asks for, by whatever chance", () => {
    for (const chance of [0, 0.5, 1]) expect(nextOf(state(), { ...retry, at: after(86_400_000) }, NOW, chance).waitMs).toBeGreaterThanOrEqual(86_400_000);
  });

  test("a fault of the issuer has it rest, longer each time", () => {
    expect(nextOf(state({ issuerFailures: 2 }), { ...retry, ofIssuer: true }, NOW, 0)).toMatchObject({ waitMs: 30_000, restMs: 120_000 });
    expect(nextOf(state(), { ...retry, ofIssuer: true, at: after(900_000) }, NOW, 0)).toMatchObject({ waitMs: 900_000, restMs: 900_000 });
  });

  test("what renews a certificate waits a thirtieth of its lifetime at most, at the least 5 s, whatever is left of it", () => {
    const waits = (replacedLifetimeMs: number) => {
      const { waitMs, restMs } = nextOf(state({ replacedLifetimeMs, attempts: 9, issuerFailures: 9 }), { ...retry, ofIssuer: true }, NOW, 0);
      return [waitMs, restMs];
    };
    expect([90 * 86_400_000, 3_600_000, 300_000, 60_000].map(waits)).toEqual([3_600_000, 120_000, 10_000, 5_000].map((each) => [each, each]));
    const limited = nextOf(state({ replacedLifetimeMs: 300_000 }), { ...retry, ofIssuer: true, at: after(900_000) }, NOW, 0);
    expect(limited).toMatchObject({ waitMs: 900_000, restMs: 900_000 });
  });

  test("three days of failures are given up", () => {
    expect(nextOf(state({ failingSince: after(-3 * 86_400_000) }), retry, NOW, 0).status).toBe("validating");
    expect(nextOf(state({ failingSince: after(-3 * 86_400_000 - 1) }), retry, NOW, 0)).toMatchObject({
      status: "failed",
      reason: "It was given up after three days of failures. It is away.",
    });
  });
});
