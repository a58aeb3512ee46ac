import fc from "fast-check";
import { resolve, type Schema } from "../support/openapi/document";
import { ANOTHER_ID, NUMBERS, nearlyJson, SHAPES, TEXTS, text } from "./junk";

/** JSON texts that hardly any field wants. */
export const junkJson = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...NUMBERS, ...SHAPES, ...TEXTS.map(text)) },
  { weight: 2, arbitrary: fc.string({ unit: "binary", maxLength: 300 }).map(text) },
  { weight: 1, arbitrary: fc.string({ maxLength: 40 }).map(text) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 4, stringUnit: "binary" }).map((value) => JSON.stringify(value)) },
  { weight: 1, arbitrary: fc.double().map((value) => (Number.isFinite(value) ? String(value) : "1e999")) },
);

// Short enough that the server looks at the whole request: above 16 KiB of head the transport answers 431 by itself.
const encoded = fc
  .oneof(fc.constantFrom(...TEXTS), fc.string({ maxLength: 60 }), fc.string({ unit: "grapheme", maxLength: 60 }))
  .map((value) => encodeURIComponent(value.slice(0, 250).toWellFormed()));

/** What stands between two slashes of a path; never empty, and no way out of it. */
export const junkSegment = fc
  .oneof(
    fc.constantFrom("%00", "a%00b", "..%2f..%2fetc%2fpasswd", "%2fadmin", "%", "%zz", "%ff", "%ed%a0%80", "%f0%9f", "%0d%0aset-cookie:a=b", "x".repeat(2_000)),
    fc.constantFrom(
      "0",
      "-1",
      "null",
      "undefined",
      "__proto__",
      "constructor",
      "*",
      "@",
      ";",
      "'",
      "(",
      "+",
      "{}",
      "[object%20Object]",
      ANOTHER_ID,
      `${ANOTHER_ID}%20`,
    ),
    encoded,
  )
  .filter((value) => !/^(\.|%2e){0,2}$/i.test(value) && !/[/?#\\]/.test(value));

const ID = fc.constantFrom(ANOTHER_ID, "ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000000", ANOTHER_ID.toUpperCase(), "x");
const MOMENT = fc.constantFrom("0000-00-00T00:00:00.000Z", "2030-02-30T00:00:00.000Z", "9999-99-99T99:99:99.999Z", "99999-12-31T23:59:59.999Z", "99999");
const POSITION = fc.constantFrom("0", "-1", "000000000", "99999", "999999999", "2147483648", "9999999999", "1e5", " 1");
const KEY = fc.constantFrom("a", "main", "a\0b", "\ud800", "", "x".repeat(500));
const RANK = fc.constantFrom("0", "0.1", "-1", "999999999", "1e-99", "0.00000000000000000001", "1e99", "NaN");

/** Cursors that nobody was given, most of them of a shape that some list uses. */
const junkCursor = fc
  .oneof(
    fc.tuple(ID),
    fc.tuple(POSITION),
    fc.tuple(KEY),
    fc.tuple(MOMENT, ID),
    fc.tuple(RANK, ID, POSITION),
    fc.tuple(KEY, POSITION, POSITION, ID),
    fc.array(fc.constantFrom<unknown>(5, null, [], {}, "x"), { maxLength: 4 }),
  )
  .map((parts) => Buffer.from(JSON.stringify(parts)).toString("base64url"));

const SHORT = [
  "%00",
  "%ff",
  "%",
  "",
  "1",
  "0",
  "-1",
  "101",
  "1e2",
  "5.5",
  "x".repeat(1_000),
  "%27",
  "a,b",
  "a%20in%20(",
  "%26%26",
  "%22",
  "PT1S",
  "P1D",
  "-P1Y",
  "1h",
  "0s",
];
const junkValue = ({ schema }: Named) =>
  fc.oneof(encoded, fc.constantFrom(...SHORT), fc.constantFrom(...nearlyJson(resolve(schema)).map((each) => encodeURIComponent(each.replaceAll('"', "")))));

type Named = { name: string; schema: Schema };

/** A query string out of the operation's own parameters and others. */
export function junkQuery(own: Named[]) {
  const named = [...own, { name: "limit", schema: { type: "integer" } }, { name: "__proto__", schema: {} }, { name: "nonsense", schema: {} }];
  const part = fc.constantFrom(...named).chain((each) => junkValue(each).map((value) => `${each.name}=${value}`));
  const strange = fc.constantFrom("", "=", "&&", "limit", "limit[]=5", "cursor[a]=b", "%ff=%ff", "%00=1", "%", "?", "a=b=c");
  const hasCursor = own.some((each) => each.name === "cursor");
  const cursor = junkCursor.map((each) => `cursor=${each}`);
  const parts = fc.oneof({ weight: 8, arbitrary: part }, { weight: hasCursor ? 6 : 0, arbitrary: cursor }, { weight: 1, arbitrary: strange });
  return fc.array(parts, { minLength: 1, maxLength: 3 }).map((each) => each.join("&"));
}

const headerText = fc.oneof(
  fc.constantFrom(
    "",
    "*",
    '"1"',
    '"0"',
    '"99999999999999999999"',
    'W/"1"',
    '"1", "2"',
    ",",
    "null",
    "-1",
    "1e9",
    "x".repeat(1_000),
    "é".repeat(20),
    "application/json",
    ANOTHER_ID,
  ),
  fc.string({
    unit: fc
      .integer({ min: 0x21, max: 0xff })
      .filter((code) => code < 0x7f || code > 0x9f)
      .map((code) => String.fromCharCode(code)),
    maxLength: 60,
  }),
);

const HEADERS = [
  "if-match",
  "if-none-match",
  "x-request-id",
  "content-type",
  "accept",
  "accept-encoding",
  "range",
  "last-event-id",
  "x-user-id",
  "x-platform-staff-email",
  "x-organization-role",
  "x-organization-id",
  "webhook-id",
  "webhook-timestamp",
  "webhook-signature",
  "traceparent",
  "cookie",
];

export const junkHeaders = fc.dictionary(fc.constantFrom(...HEADERS), headerText, { minKeys: 1, maxKeys: 3, noNullPrototype: true });
