import { describe, expect, test } from "bun:test";
import { createKeyring } from "#crypto/keyring";
import { createStamps, type Facts } from "#crypto/stamps";

const [ONE, OTHER] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)] as const;
const stamps = createStamps(createKeyring([ONE]));
const FACTS: Facts = ["assignment", "a", "b", { config: { alias: "x", nodeFlags: ["y"] }, enabled: true }];

describe("a stamp", () => {
  test("holds for the same facts, whatever the order of their names", () => {
    const stamp = stamps.of(FACTS);
    expect(stamps.hold(stamp, ["assignment", "a", "b", { enabled: true, config: { nodeFlags: ["y"], alias: "x" } }])).toBe(true);
  });

  test.each<[string, Facts]>([
    ["another purpose", ["removal", ...FACTS.slice(1)]],
    ["texts that are divided otherwise", ["assignment", "ab", "", FACTS[3]]],
    ["a text in place of a boolean", ["assignment", "a", "b", { config: { alias: "x", nodeFlags: ["y"] }, enabled: "true" }]],
    ["a list in another order", ["assignment", "b", "a", FACTS[3]]],
    ["a name more", ["assignment", "a", "b", { config: { alias: "x", nodeFlags: ["y"], preset: null }, enabled: true }]],
    ["JSON in a text", ["assignment", "a", "b", JSON.stringify(FACTS[3])]],
  ])("does not hold for %s", (_, facts) => expect(stamps.hold(stamps.of(FACTS), facts)).toBe(false));

  test("does not hold with a bit of it changed, cut off, longer, of another key, or without any", () => {
    const stamp = stamps.of(FACTS);
    for (let at = 0; at < stamp.length; at++) expect(stamps.hold(stamp.with(at, (stamp[at] ?? 0) ^ 1), FACTS)).toBe(false);
    for (const wrong of [stamp.subarray(0, -1), stamp.subarray(0, 10), Buffer.concat([stamp, stamp]), Buffer.alloc(0), null])
      expect(stamps.hold(wrong, FACTS)).toBe(false);
    expect(createStamps(createKeyring([OTHER])).hold(stamp, FACTS)).toBe(false);
  });

  test("holds for as long as its key is listed, and is made by the first", () => {
    const both = createStamps(createKeyring([OTHER, ONE]));
    expect(both.hold(stamps.of(FACTS), FACTS)).toBe(true);
    expect(createStamps(createKeyring([OTHER])).hold(both.of(FACTS), FACTS)).toBe(true);
    expect(stamps.hold(both.of(FACTS), FACTS)).toBe(false);
  });
});
