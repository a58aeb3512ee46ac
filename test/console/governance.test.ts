import { describe, expect, test } from "bun:test";
import { describeChange } from "#console/app/pages/governance/describe";
import { filterControls } from "#console/app/pages/governance/filter";
import type { Control } from "#console/app/pages/governance/types";

const NOW = new Date("2026-11-23T12:00:00Z");
const control = (title: string, rest: Partial<Control> = {}): Control => ({
  ...{
    id: title,
    framework: "iso",
    ref: "Art. 14",
    title,
    group: "Chapter III",
    summary: "People can stop it.",
    needsAttention: false,
    version: 0,
    updatedAt: null,
  },
  ...{ status: "not_started", note: null, evidence: [], ownerId: null, dueDate: null },
  ...rest,
});
const titles = (controls: Control[], query: Record<string, string>) => filterControls(controls, query, NOW).map(({ title }) => title);

describe("filters of controls", () => {
  const controls = [
    control("late", { dueDate: "2026-11-22" }),
    control("late but done", { dueDate: "2026-11-22", status: "implemented" }),
    control("today", { dueDate: "2026-11-23", ownerId: "u1" }),
    control("next year", { dueDate: "2027-11-23" }),
    control("undated", { needsAttention: true }),
  ];
  test("a date that is past is overdue, unless the control is done", () => expect(titles(controls, { due: "overdue" })).toEqual(["late"]));
  test("today is within 30 days", () => expect(titles(controls, { due: "month" })).toEqual(["today"]));
  test("no date, no owner", () => expect(titles(controls, { due: "none", owner: "none" })).toEqual(["undated"]));
  test("an owner and a status", () => expect(titles(controls, { owner: "u1", status: "not_started" })).toEqual(["today"]));
  test("evidence that lapsed", () => expect(titles(controls, { attention: "yes" })).toEqual(["undated"]));
  test("text in any letter case, in the title or the summary", () => {
    expect(titles(controls, { q: "LATE" })).toEqual(["late", "late but done"]);
    expect(titles(controls, { q: "stop it" })).toHaveLength(5);
  });
});

describe("changes of controls in words", () => {
  const before = control("it", { note: "old", evidence: [{ title: "a" }], ownerId: "u1", dueDate: "2027-01-01" });
  test("the first one stands against the untouched control", () =>
    expect(describeChange(control("it", { status: "in_progress", note: "new" }))).toEqual(["not started → in progress", "note written"]));
  test("what was taken away", () =>
    expect(describeChange(control("it"), before)).toEqual(["owner removed", "date removed", "note removed", "1 evidence removed"]));
  test("what is other than before", () =>
    expect(describeChange({ ...before, note: "new", evidence: [{ title: "b" }], ownerId: "u2" }, before, (id) => `<${id}>`)).toEqual([
      "owner <u2>",
      "note changed",
      "evidence changed",
    ]));
  test("nothing", () => expect(describeChange(before, before)).toEqual(["saved as it was"]));
});
