import { describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { formatNetwork, isDomain, isNetwork, networkBytes } from "#modules/issuance/authorities/rules/names";
import { hasRocaFingerprint } from "#modules/issuance/issuing/rules/roca";

const modulusOf = () => {
  const { n = "" } = generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey.export({ format: "jwk" });
  return BigInt(`0x${Buffer.from(n, "base64url").toString("hex")}`);
};

describe("ROCA", () => {
  test("a modulus made of powers of 65537 has its fingerprint, and random ones have not", () => {
    const primorial = [
      3n,
      5n,
      7n,
      11n,
      13n,
      17n,
      19n,
      23n,
      29n,
      31n,
      37n,
      41n,
      43n,
      47n,
      53n,
      59n,
      61n,
      67n,
      71n,
      73n,
      79n,
      83n,
      89n,
      97n,
      101n,
      103n,
      107n,
      109n,
      113n,
      127n,
      131n,
      137n,
      139n,
      149n,
      151n,
      157n,
      163n,
      167n,
    ].reduce((one, other) => one * other);
    for (const power of [1n, 123n, 98_765n]) expect(hasRocaFingerprint(primorial * 7_919n + (65_537n ** power % primorial))).toBe(true);
    for (let n = 0; n < 5; n++) expect(hasRocaFingerprint(modulusOf())).toBe(false);
  });
});

describe("an address range", () => {
  test.each([
    ["10.0.0.0/8", "0a000000ff000000"],
    ["192.168.16.0/20", "c0a81000fffff000"],
    ["0.0.0.0/0", "0000000000000000"],
    ["2001:db8::/33", "20010db8000000000000000000000000ffffffff800000000000000000000000"],
  ])("%s is encoded with its mask, and read again", (text, hex) => {
    expect([isNetwork(text), Buffer.from(networkBytes(text)).toString("hex"), formatNetwork(networkBytes(text))]).toEqual([true, hex, text]);
  });

  test.each(["10.0.0.1/8", "10.0.0.0", "10.0.0.0/33", "a/8", "2001:db8::1/32", ""])("%p is none", (text) => {
    expect(isNetwork(text)).toBe(false);
  });
});

test("a domain has labels of letters, digits, hyphens and underscores, in lower case", () => {
  for (const each of ["example.com", "a", "xn--mnchen-3ya.example", "_dmarc.example.com", "1.2"]) expect([each, isDomain(each)]).toEqual([each, true]);
  for (const each of ["", ".", "a.", ".a", "-a.b", "a-.b", "A.b", "a b", "*.a", "ä.de", `${"a".repeat(64)}.de`, "a.".repeat(130)])
    expect([each, isDomain(each)]).toEqual([each, false]);
});
