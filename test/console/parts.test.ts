import { expect, test } from "bun:test";
import { scale, ticks } from "../../src/console/app/parts/charts/scale";
import { fieldsOf, fromText, labelOf, toText } from "../../src/console/app/parts/fields";
import { windowOf } from "../../src/console/app/parts/rows";

test("of 50,000 rows only those near the reader's sight are in the document, and the heights add up", () => {
  for (const top of [0, 480, 1_000_000, 50_000 * 48]) {
    const { start, end, before, after } = windowOf({ top, height: 800, count: 50_000, rowHeight: 48 });
    expect(end - start).toBeLessThan(60);
    expect(before + (end - start) * 48 + after).toBe(50_000 * 48);
    expect(before).toBeLessThanOrEqual(Math.max(top, 0));
  }
  expect(windowOf({ top: 0, height: 800, count: 0, rowHeight: 48 })).toEqual({ start: 0, end: 0, before: 0, after: 0 });
});

test("a schema becomes the fields of a form", () => {
  const fields = fieldsOf({
    required: ["url"],
    properties: {
      url: { type: "string", description: "Where it listens." },
      apiKey: { type: "string", writeOnly: true },
      port: { type: ["integer", "null"] },
      recipients: { type: "array", items: { type: "string" } },
      mode: { enum: ["open", "closed"] },
      rules: { type: "object" },
      active: { type: "boolean", title: "In use" },
    },
  });
  expect(fields.map(({ name, kind }) => [name, kind])).toEqual([
    ["url", "text"],
    ["apiKey", "password"],
    ["port", "number"],
    ["recipients", "lines"],
    ["mode", "select"],
    ["rules", "json"],
    ["active", "boolean"],
  ]);
  expect(fields[0]).toEqual({ name: "url", label: "URL", kind: "text", required: true, hint: "Where it listens." });
  expect(fields.at(-1)?.label).toBe("In use");
  expect(labelOf("storePasswordRef")).toBe("Store password ref");
});

test.each([
  ["lines", ["a", "b"], "a\nb"],
  ["pairs", { env: "prod", note: "a=b" }, "env=prod\nnote=a=b"],
  ["number", 5, "5"],
  ["json", { a: [1] }, '{\n  "a": [\n    1\n  ]\n}'],
  ["text", "x", "x"],
] as const)("a value of kind %s is written as text and read again", (kind, value, text) => {
  expect(toText(kind, value)).toBe(text);
  expect(fromText({ name: "x", label: "X", kind }, text)).toEqual(value);
});

test("what is no such value is named in a sentence", () => {
  expect(() => fromText({ name: "labels", label: "Labels", kind: "pairs" }, "env")).toThrow('Labels: "env" must be a name, "=" and a value.');
  expect(() => fromText({ name: "rules", label: "Rules", kind: "json" }, "{")).toThrow("Rules is not JSON");
  expect(fromText({ name: "port", label: "Port", kind: "number" }, "")).toBeUndefined();
});

test("a chart's scale and its round numbers", () => {
  expect(scale([0, 10], [100, 0])(2.5)).toBe(75);
  expect(scale([3, 3], [0, 10])(3)).toBe(5);
  expect(ticks([0, 1], 4)).toEqual([0, 0.5, 1]);
  expect(ticks([0, 97], 4)).toEqual([0, 50]);
  expect(ticks([5, 5], 4)).toEqual([5]);
});
