import { describe, expect, test } from "bun:test";
import { createNonces } from "#auth/nonces";

const at = (seconds: number) => new Date(Date.parse("2030-01-01T00:00:00Z") + seconds * 1_000);
const nonceAt = (seconds: number) => Bun.randomUUIDv7("hex", at(seconds));

describe("the nonces of a key", () => {
  test("count once, and only in the order of time; those of another key are not concerned", () => {
    const { use } = createNonces();
    const [first, second] = [nonceAt(0), nonceAt(1)];
    expect([use("a", second, at(1)), use("a", second, at(1)), use("a", first, at(1)), use("b", first, at(1))]).toEqual([true, false, false, true]);
  });

  test("of a future that was none, before the server's clock was set right, keep no later request out", () => {
    const { use } = createNonces();
    expect(use("a", nonceAt(86_400), at(86_400))).toBe(true);
    const now = nonceAt(0);
    expect([use("a", now, at(0)), use("a", now, at(0))]).toEqual([true, false]);
  });
});
