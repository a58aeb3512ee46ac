import type { Schema } from "../support/openapi/document";

export const text = (value: string) => JSON.stringify(value);
const nested = (levels: number, open: string, close: string) => `${open.repeat(levels)}1${close.repeat(levels)}`;

/** Of nothing at all. */
export const ANOTHER_ID = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9cff";

export const NUMBERS = [
  "0",
  "-0",
  "-1",
  "1.5",
  "1e400",
  "-1e400",
  "1e-400",
  "2147483648",
  "4294967296",
  "9007199254740993",
  "9223372036854775808",
  "1".repeat(400),
];

const TIMES = [
  "0000-01-01T00:00:00Z",
  "0001-01-01T00:00:00Z",
  "-000001-01-01T00:00:00Z",
  "2016-12-31T23:59:60Z",
  "2023-02-29T12:00:00Z",
  "2030-02-30T00:00:00Z",
  "2030-01-01T24:00:00Z",
  "2030-01-01T00:00:00+14:00",
  "2030-01-01T00:00:00+99:99",
  "2030-01-01T00:00:00",
  "2030-01-01 00:00:00Z",
  "2030-01-01t00:00:00z",
  "2030-01-01T00:00:00.123456789123Z",
  "2030-01-01",
  "9999-12-31T23:59:59.999Z",
  "9999-12-31T23:59:59.999-12:00",
  "0001-01-01T00:00:00+12:00",
  "99999-01-01T00:00:00Z",
  "+275760-09-13T00:00:00Z",
  "+294277-01-01T00:00:00Z",
  "infinity",
  "now",
  "epoch",
];

export const TEXTS = [
  "",
  " ",
  "\t\n",
  "\0",
  "a\0b",
  "\ud800",
  "\udfff\ud800",
  "a\ud83d",
  "\u202e\u200b\ufeff",
  "🦀".repeat(120),
  "ß".repeat(200),
  "e\u0301".repeat(150),
  "İI".normalize("NFD"),
  "\uffff",
  "x".repeat(121),
  "x".repeat(201),
  "x".repeat(2_001),
  "x".repeat(70_000),
  "'",
  '"',
  "\\",
  "'; select pg_sleep(10); --",
  "$1",
  "%s%n%",
  "_",
  "a & b | !c <-> d:*",
  "\\x00",
  "{}",
  "{a,b}",
  "null",
  "undefined",
  "__proto__",
  "constructor",
  "../../etc/passwd",
  "env:HOME",
  "0",
  "5",
  "1e3",
  "true",
  "00000000-0000-0000-0000-000000000000",
  "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF",
  ANOTHER_ID,
  `{${ANOTHER_ID}}`,
  ANOTHER_ID.replaceAll("-", ""),
  "a@b.example",
  `${"a".repeat(300)}@b.example`,
  "é@ü.example",
  "https://[::1",
  "https://a b/",
  "https://user:password@service.example/",
  "https://service.example:99999/",
  "javascript:alert(1)",
  "file:///etc/passwd",
  "https://xn--/",
  "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----",
  "-----BEGIN CERTIFICATE-----",
  ...TIMES,
];

export const SHAPES = [
  "null",
  "true",
  "false",
  "[]",
  "[[]]",
  "[null]",
  "[{}]",
  "{}",
  '{"":""}',
  '{"a":null}',
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"toString":1,"length":-1}',
  '{"a\\u0000b":"c"}',
  '{"\\ud800":"c"}',
  '{"a":1,"a":2}',
  `{${Array.from({ length: 300 }, (_, index) => `"k${index}":"v"`).join()}}`,
  `[${Array(2_000).fill("0").join()}]`,
  `[${Array(2_000).fill(text(ANOTHER_ID)).join()}]`,
  nested(30, "[", "]"),
  nested(30, '{"a":', "}"),
  nested(10_000, "[", "]"),
];

/** JSON texts that are nearly what the field wants. */
export function nearlyJson({ type, format, enum: choices, minimum, maximum, minLength, maxLength = 100, maxItems }: Schema): string[] {
  if (format === "date-time" || format === "date") return TIMES.map(text);
  if (choices) return [...choices.map((each) => text(`${each} `)), ...choices.map((each) => text(String(each).toUpperCase()))];
  if (type === "integer" || type === "number")
    return [`${(minimum ?? 0) - 1}`, `${(maximum ?? 1e9) + 1}`, `${minimum ?? 0}.5`, `"${minimum ?? 0}"`, "1e3", "1e21"];
  if (type === "array")
    return [
      "[null]",
      `[${Array(Math.min(maxItems ?? 100, 10_000) + 1)
        .fill("{}")
        .join()}]`,
      "{}",
    ];
  if (type !== "string") return ["null"];
  return [
    text("x".repeat(maxLength)),
    text("x".repeat(maxLength + 1)),
    text("🦀".repeat(Math.min(maxLength, 900))),
    text(" ".repeat(minLength ?? 1)),
    text(` ${"x".repeat(maxLength)} `),
  ];
}
