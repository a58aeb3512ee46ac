import { describe, expect, test } from "bun:test";
import { ifMatch } from "#http/etag";
import { growthOf, SUPER_LINEAR } from "../support/server/growth";

const read = (...values: string[]) => {
  const headers = new Headers();
  for (const value of values) headers.append("if-match", value);
  return ifMatch(headers);
};

describe("If-Match", () => {
  test("accepts any version where it is absent or *", () => {
    expect(read()).toBeUndefined();
    expect(read("*")).toBeUndefined();
    expect(read(" * ")).toBeUndefined();
  });

  test.each([
    [['"1"'], [1]],
    [['"1", "2"'], [1, 2]],
    [['"1","2"\t , "30"'], [1, 2, 30]],
    [[', "1",, "2",'], [1, 2]],
    [
      ['"1"', '"2"'],
      [1, 2],
    ],
    [['"0"'], [0]],
    [['"a,b", "1"'], [1]],
    [['"", "1"'], [1]],
    [['W/"1", "2"'], [2]],
    [['"7", "7"'], [7]],
  ])("%j accepts the versions of its strong tags: %j", (values, versions) => {
    expect(read(...values)).toEqual(versions);
  });

  test.each([
    'W/"1"',
    'w/"1"',
    "",
    "1",
    "nonsense",
    '"1',
    '1"',
    '"1" "2"',
    '"1"; "2"',
    '*, "1"',
    '"1", *',
    '"1", nonsense',
    '"01"',
    '"+1"',
    '"1 "',
    '"1.0"',
    '"-1"',
    '"9999999999"',
    '"99999999999999999999"',
    `${'"1", '.repeat(1_000)}"1"`,
  ])("%j accepts no version", (value) => {
    expect(read(value)).toEqual([]);
  });

  test.each([" ", "\t,", '"', '"1"\t', "W/", ","])("is read in time in proportion to its length: %j", (unit) => {
    const readOften = (value: string) => {
      for (let round = 0; round < 200; round++) read(value);
    };
    expect(growthOf((size) => `"1"${unit.repeat(size)}x`, readOften, { to: 1_000 / unit.length })).toBeLessThan(SUPER_LINEAR);
  });
});
