import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { CLASS, decodeMessage, encodeMessage, encodeRecord, encodeText, HEADER_SIZE, numbers, TYPE } from "#modules/issuance/dns/rules/wire/messages";
import { decodeName, encodeName, readDnsName } from "#modules/issuance/dns/rules/wire/names";
import { growthOf, SUPER_LINEAR } from "../../../support/server/growth";

const label = fc.stringMatching(/^[a-z0-9_-]{1,20}$/);
const name = fc.array(label, { maxLength: 10 }).map((labels) => labels.join("."));

/** Where the data of the first answer begins, whose name is one letter. */
const CHAIN = HEADER_SIZE + 8 + 4 + 3 + 10;

/** A message of one question and of answers as they are given. */
const withAnswers = (count: number, ...records: Uint8Array[]) =>
  Buffer.concat([numbers([2, 1], [2, 0x8400], [2, 1], [2, count], [2, 0], [2, 0]), encodeName("a.test"), numbers([2, TYPE.TXT], [2, 1]), ...records]);
const fixed = (type: number, data: Uint8Array) => Buffer.concat([numbers([2, type], [2, CLASS.IN], [4, 60], [2, data.length]), data]);
const pointer = (target: number) => numbers([2, 0xc000 | target]);

describe("a name", () => {
  test("is read as it was written", () => {
    fc.assert(fc.property(name, (text) => expect(decodeName(encodeName(text), 0)).toEqual({ name: text, end: encodeName(text).length })));
  });

  test("has its own case and last dot in no comparison", () => {
    expect(readDnsName("_ACME-challenge.Example.TEST.")).toBe("_acme-challenge.example.test");
    expect(decodeName(Buffer.from("\x01A\x02Bc\0"), 0).name).toBe("a.bc");
  });

  test.each(["a..b", ".a", "a b", "é", "a".repeat(64), `${"a.".repeat(127)}a`, "*.a", "a\\.b"])("that cannot be asked for is none: %s", (text) => {
    expect(readDnsName(text)).toBeUndefined();
    expect(() => encodeName(text)).toThrow(RangeError);
  });

  test("with a dot within a label is another than one without", () => {
    expect(decodeName(Buffer.from("\x03a.b\x01c\0"), 0).name).toBe("a\\046b.c");
  });

  test("may end with a pointer to what stands before", () => {
    const bytes = Buffer.from([...encodeName("b.test"), 1, 97, 0xc0, 0]);
    expect(decodeName(bytes, 8)).toEqual({ name: "a.b.test", end: 12 });
  });

  test.each([
    ["to itself", [0xc0, 0]],
    ["forwards", [0xc0, 2, 0]],
    ["in a circle", [1, 97, 0xc0, 0]],
    ["beyond the message", [0xff, 0xff]],
    ["half", [0xc0]],
    ["nowhere: a label of an unknown kind", [0x80, 97, 0]],
    ["nowhere: no end", [1, 97]],
    ["nowhere: a label that is longer than the message", [5, 97, 0]],
  ])("whose pointer leads %s is refused", (_, bytes) => {
    expect(() => decodeName(Buffer.from(bytes), 0)).toThrow(RangeError);
  });
});

describe("a message", () => {
  test("is read as it was written", () => {
    const record = fc.record({ name, ttl: fc.nat(), text: fc.stringMatching(/^[ -~]{0,200}$/) });
    fc.assert(
      fc.property(fc.nat(65_535), name, fc.array(record, { maxLength: 5 }), (id, zone, records) => {
        const updates = records.map(({ name, ttl, text }) => ({ name, type: TYPE.TXT, class: CLASS.IN, ttl, data: encodeText(text) }));
        const read = decodeMessage(encodeMessage({ id, opcode: 5, question: { name: zone, type: TYPE.SOA }, updates }));
        expect(read).toMatchObject({ id, question: { name: zone, type: TYPE.SOA }, isAnswer: false, answers: [], additionals: [] });
        expect(read?.authorities.map(({ name, ttl, value = "" }) => ({ name, ttl, text: value }))).toEqual(records);
      }),
    );
  });

  test("of anything is read or refused, and nothing else", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => void decodeMessage(Buffer.from(bytes))));
    const whole = withAnswers(
      3,
      pointer(HEADER_SIZE),
      fixed(TYPE.TXT, encodeText("v")),
      pointer(HEADER_SIZE),
      fixed(TYPE.NS, pointer(HEADER_SIZE)),
      encodeName("x"),
      fixed(TYPE.A, Buffer.from([127, 0, 0, 1])),
    );
    expect(decodeMessage(whole)?.answers.map(({ name, value }) => [name, value])).toEqual([
      ["a.test", "v"],
      ["a.test", "a.test"],
      ["x", "127.0.0.1"],
    ]);
    for (let end = 0; end < whole.length; end++) expect(decodeMessage(whole.subarray(0, end))).toBeUndefined();
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (at, byte) => {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        decodeMessage(bytes);
      }),
    );
  });

  test("has each address as it is written, and no other size of one", () => {
    const of = (type: number, data: number[]) => decodeMessage(withAnswers(1, encodeName("x"), fixed(type, Buffer.from(data))))?.answers[0]?.value;
    expect(of(TYPE.A, [192, 0, 2, 1])).toBe("192.0.2.1");
    expect(of(TYPE.AAAA, [0x20, 1, 0xd, 0xb8, ...Array(11).fill(0), 1])).toBe("2001:db8::1");
    expect(of(TYPE.A, [192, 0, 2])).toBeUndefined();
    expect(of(TYPE.AAAA, [192, 0, 2, 1])).toBeUndefined();
    expect(of(TYPE.TXT, [2, 97, 98, 0, 1, 99])).toBe("abc");
    expect(of(TYPE.TXT, [9, 97])).toBeUndefined();
  });

  test("that says it has more than 500 records is refused", () => {
    const record = encodeRecord({ name: "", type: TYPE.TXT, class: CLASS.IN, ttl: 0, data: encodeText("v") });
    const of = (count: number) => decodeMessage(withAnswers(count, ...Array(count).fill(record)));
    expect(of(500)?.answers).toHaveLength(500);
    expect(of(501)).toBeUndefined();
  });

  test("takes time in proportion to its size, however its names point", () => {
    // Names of pointers alone, each to the one before; then a record whose name begins at the last.
    const chained = (size: number) => {
      const chain = Array.from({ length: size }, (_, index) => pointer(index === 0 ? HEADER_SIZE : CHAIN + 2 * (index - 1)));
      return withAnswers(2, encodeName("x"), fixed(0xff00, Buffer.concat(chain)), pointer(CHAIN + 2 * (size - 1)), fixed(TYPE.TXT, encodeText("v")));
    };
    // Names of as many labels as fit, each pointing to the long one.
    const long = "a.".repeat(120).slice(0, -1);
    const many = (size: number) =>
      withAnswers(
        size,
        encodeName(long),
        fixed(TYPE.TXT, encodeText("v")),
        ...Array(size - 1).fill(Buffer.concat([pointer(24), fixed(TYPE.TXT, encodeText("v"))])),
      );
    for (const make of [chained, many]) expect(growthOf(make, decodeMessage, { from: 16, to: 100 })).toBeLessThan(SUPER_LINEAR);
    expect(decodeMessage(chained(15))?.answers[1]).toMatchObject({ name: "a.test", value: "v" });
    expect(decodeMessage(chained(16))).toBeUndefined();
  });
});
