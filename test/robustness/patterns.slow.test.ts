import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { check } from "recheck";
import { growthOf, SUPER_LINEAR } from "../support/server/growth";
import { type Pattern, readPatterns, readSchemaPatterns } from "../support/server/patterns";

setDefaultTimeout(300_000);

/** Patterns that may take longer than their input grows, and why no input is long. */
const BOUNDED = new Map<string, string>([]);

/** The widest example of what each `new RegExp` makes, by its file. */
const BUILT = new Map([
  ["src/agent/settings/formats.ts", /^# begin certitude ca-bundle (.*?)\r?$/gm],
  ["src/app.ts", /^\/organizations\/[^/]+\/agents\/[^/]+\/assignments\/[^/]+\/?$/],
  ["src/db/failures.ts", /^(CONNECT(ION)?_\w+|E(CONNREFUSED|CONNRESET|PIPE)|08\w{3}|25006|4000[13]|40P01|57\w{3}|72000)$/],
  ["src/http/pagination.ts", /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/],
  ["src/modules/core/connectors/rules/destination.ts", /^For (\w+ )?approle\b/],
  ["src/modules/knowledge/documents/queries/documents.ts", /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.[0-9a-f]{8}-[0-9a-f]{4}$/],
]);

const { literals, built } = readPatterns();
const examples = [...BUILT].map(([where, { source, flags }]): Pattern => ({ source, flags, where }));
const patterns = [...literals, ...examples, ...readSchemaPatterns()];

/** All matches, wherever they begin: what any way of using the pattern comes to. */
function matchAll({ source, flags }: Pattern) {
  const pattern = new RegExp(source, flags.includes("g") ? flags : `${flags}g`);
  return (text: string) => text.replace(pattern, "");
}

/** Repetitions of what the pattern is about. */
const probesFor = ({ source }: Pattern) => [...new Set([...source, source, ..." \t\n\r\f.a0A_-/<!é", " \n", "a ", "a.", "a\n", "--", "\\", "'"])];

describe.each(patterns.map((pattern) => [`/${pattern.source}/${pattern.flags}`, pattern] as const))("%s", (name, pattern) => {
  test(`takes time in proportion to its input (${pattern.where})`, async () => {
    const verdict = await check(pattern.source, pattern.flags, { timeout: 60_000, randomSeed: 1 });
    if (verdict.status === "vulnerable") {
      const { pumps, suffix } = verdict.attack;
      const attack = (size: number) => pumps.map(({ prefix, pump, bias }) => prefix + pump.repeat(size + bias)).join("") + suffix;
      const growth = verdict.complexity.type === "exponential" ? Number.POSITIVE_INFINITY : growthOf(attack, matchAll(pattern));
      const isFine = growth < SUPER_LINEAR || BOUNDED.has(name);
      expect({ isFine, growth, attack: verdict.attack.pattern }).toEqual({ isFine: true, growth, attack: verdict.attack.pattern });
      return;
    }
    expect({ status: verdict.status, error: verdict.status === "unknown" && verdict.error }).toEqual({ status: "safe", error: false });
    for (const probe of probesFor(pattern)) {
      const growth = growthOf((size) => `${probe.repeat(size)}\0`, matchAll(pattern), { to: 4_096 });
      expect({ probe, growth, isFine: growth < SUPER_LINEAR }).toEqual({ probe, growth, isFine: true });
    }
  });
});

test("each pattern that is put together at run time is known here, and each known one is still there", () => {
  expect(built.toSorted()).toEqual([...BUILT.keys()]);
});

test("each pattern that is let pass for its bounded input is still there", () => {
  const names = patterns.map(({ source, flags }) => `/${source}/${flags}`);
  expect([...BOUNDED.keys()].filter((each) => !names.includes(each))).toEqual([]);
});

test("a pattern that takes too long is found", async () => {
  for (const pattern of [/\s+$/, /^\s*(<!--[\s\S]{0,2000}?-->\s*)*<(html|head)/i, /^(a+)+$/])
    expect((await check(pattern.source, pattern.flags, { timeout: 60_000, randomSeed: 1 })).status).toBe("vulnerable");
  const spaces = (size: number) => `${" ".repeat(size)}x`;
  expect(growthOf(spaces, matchAll({ source: "\\s+$", flags: "", where: "" }))).toBeGreaterThan(SUPER_LINEAR);
});
