import { expect, test } from "bun:test";
import { join } from "node:path";
import { VARIABLE_DETAILS, VARIABLE_LIST } from "#commands/variables-help";
import { listVariables } from "#text/variables";

test("each variable of the list is read by the configuration", async () => {
  const source = await Bun.file(join(import.meta.dir, "../../src/config.ts")).text();
  expect(listVariables().flatMap(([name]) => (source.includes(`"${name}"`) ? [] : name))).toEqual([]);
});

test("the help has every variable with its default and its meaning, in lines for a terminal", () => {
  const flat = VARIABLE_DETAILS.replace(/\s+/g, " ");
  for (const [name, { about, fallback, more = "" }] of listVariables()) {
    expect(VARIABLE_LIST).toContain(about);
    for (const each of [`${name} default: ${fallback}`, about.slice(1), more]) expect(flat).toContain(each);
  }
  expect(`${VARIABLE_DETAILS}\n${VARIABLE_LIST}`.split("\n").filter((line) => line.length > 110)).toEqual([]);
});

test("no value is written with a capital letter, as the first word of a meaning is", () => {
  for (const value of ["Fatal", "True", "False"]) expect(VARIABLE_DETAILS).not.toContain(value);
});
