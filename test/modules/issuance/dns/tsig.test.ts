import { describe, expect, test } from "bun:test";
import { ALGORITHMS } from "#modules/issuance/dns/rules/algorithms";
import { signMessage, type TsigKey } from "#modules/issuance/dns/rules/tsig";
import { decodeMessage, encodeMessage, TYPE } from "#modules/issuance/dns/rules/wire/messages";

const NOW = new Date("2026-11-23T01:00:00Z");
const key: TsigKey = { name: "k.test", algorithm: "hmac-sha256", secret: Buffer.alloc(32, 7) };

const question = encodeMessage({ id: 9, question: { name: "a.test", type: TYPE.SOA } });

describe("a signed message", () => {
  test.each(Object.keys(ALGORITHMS) as TsigKey["algorithm"][])("has its signature last, of %s", (algorithm) => {
    const { bytes, mac } = signMessage(question, { ...key, algorithm }, NOW);
    const read = decodeMessage(bytes);
    expect(read?.additionals).toHaveLength(1);
    expect(read?.additionals[0]).toMatchObject({ name: "k.test", type: TYPE.TSIG, class: 255, ttl: 0, start: question.length });
    expect(bytes.includes(mac)).toBe(true);
    expect(mac).toHaveLength({ "hmac-sha256": 32, "hmac-sha384": 48, "hmac-sha512": 64 }[algorithm]);
  });

  test("is another one for each bit of it, of the key and of the time", () => {
    const { mac } = signMessage(question, key, NOW);
    const others = [
      signMessage(Buffer.from(question).fill(1, 20, 21), key, NOW),
      signMessage(question, { ...key, secret: Buffer.alloc(32, 8) }, NOW),
      signMessage(question, { ...key, name: "l.test" }, NOW),
      signMessage(question, key, new Date(NOW.getTime() + 1_000)),
    ];
    for (const other of others) expect(other.mac).not.toEqual(mac);
  });
});
