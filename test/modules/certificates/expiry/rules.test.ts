import { describe, expect, test } from "bun:test";
import { DEFAULT_POLICY, judgeExpiry } from "#modules/certificates/expiry/rules";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const start = new Date("2026-01-01T00:00:00Z");
const after = (milliseconds: number) => new Date(start.getTime() + milliseconds);

/** The notices of a certificate that is judged every hour from its issue on: hours before its end, and the days of the threshold. */
function tellings(lifetime: number, thresholds = DEFAULT_POLICY.thresholds) {
  const notAfter = after(lifetime);
  const received: [hoursLeft: number, days: number][] = [];
  let known = 0;
  for (let now = 0; now <= lifetime; now += HOUR) {
    const { crossed } = judgeExpiry({ notBefore: start, notAfter }, thresholds, after(now));
    if (crossed.length > known) received.push([(lifetime - now) / HOUR, crossed[0] ?? -1]);
    known = crossed.length;
  }
  return received;
}

describe("by default there are notices of a certificate", () => {
  test.each([
    [
      "400 days",
      400 * DAY,
      [
        [60 * 24, 60],
        [30 * 24, 30],
        [14 * 24, 14],
        [7 * 24, 7],
        [3 * 24, 3],
        [24, 1],
        [0, 0],
      ],
    ],
    [
      "200 days",
      200 * DAY,
      [
        [60 * 24, 60],
        [30 * 24, 30],
        [14 * 24, 14],
        [7 * 24, 7],
        [3 * 24, 3],
        [24, 1],
        [0, 0],
      ],
    ],
    [
      "48 days",
      48 * DAY,
      [
        [16 * 24, 60],
        [8 * 24, 30],
        [4 * 24, 7],
        [3 * 24, 3],
        [24, 1],
        [0, 0],
      ],
    ],
    [
      "a day",
      DAY,
      [
        [8, 60],
        [4, 30],
        [2, 1],
        [0, 0],
      ],
    ],
  ] as [string, number, [number, number][]][])("of %s", (_, lifetime, expected) => {
    expect(tellings(lifetime)).toEqual(expected);
  });
});

test("a threshold is reached to the millisecond, and what is due next lies ahead", () => {
  const validity = { notBefore: start, notAfter: after(100 * DAY) };
  const thresholds = [{ days: 30 }, { days: 7 }];
  const at = (left: number) => judgeExpiry(validity, thresholds, after(100 * DAY - left));
  expect(at(30 * DAY + 1)).toEqual({ crossed: [], dueAt: after(70 * DAY) });
  expect(at(30 * DAY)).toEqual({ crossed: [30], dueAt: after(93 * DAY) });
  expect(at(7 * DAY)).toEqual({ crossed: [7, 30], dueAt: after(100 * DAY) });
  expect(at(0)).toEqual({ crossed: [0, 7, 30], dueAt: null });
  expect(at(-400 * DAY)).toEqual({ crossed: [0, 7, 30], dueAt: null });
});
