import { describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync, generatePrimeSync } from "node:crypto";
import { hasCloseFactors } from "#modules/issuance/issuing/rules/factors";
import { judgeKey } from "#modules/issuance/issuing/rules/key-strength";

const encode = (number: bigint) => {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex").toString("base64url");
};
const rsa = (modulus: bigint, exponent = 65_537n) => createPublicKey({ key: { kty: "RSA", n: encode(modulus), e: encode(exponent) }, format: "jwk" });
const prime = (bits = 1_024) => generatePrimeSync(bits, { bigint: true });

const SMALL = Array.from({ length: 375 }, (_, index) => BigInt(2 * index + 3)); // to 751
/** The next odd number without a small factor: whether it is prime makes no difference. */
function nextAfter(number: bigint) {
  let next = number + 2n;
  while (SMALL.some((each) => next % each === 0n)) next += 2n;
  return next;
}

describe("judgeKey", () => {
  const [one, other] = [prime(), prime()];

  test("takes a key of two primes that have nothing in common", () => {
    expect(judgeKey(rsa(one * other))).toEqual({ algorithm: "rsa-2048" });
  });

  test.each([
    ["whose factors follow each other", one * nextAfter(one), "close to each other"],
    ["whose factors differ in their last 500 bits", one * nextAfter(one + (1n << 500n)), "close to each other"],
    ["that is a square", one * one, "close to each other"],
    ["with a small factor", one * other - ((one * other) % 251n), "a small factor"],
  ])("refuses an RSA key %s", (_, modulus, words) => {
    expect(judgeKey(rsa(modulus))).toEqual({ fault: expect.stringContaining(words) });
  });

  test.each([1n, 3n, 65_538n, (1n << 64n) + 1n])("refuses the public exponent %p", (exponent) => {
    expect(judgeKey(rsa(one * other, exponent))).toEqual({ fault: expect.stringContaining("public exponent") });
  });

  // RFC 9500, 2.3: a point of P-256, and the same one compressed
  const point = "422548f88fb782ffb5eca3744452c72a1e558fbd6f73be5e48e93232cc45c5b16c4cd10c4cb8d5b8a17139e94882c8992572993425f41419ab7e90a42a494272";
  const onP256 = (encoded: string) => {
    const bits = Buffer.from(`00${encoded}`, "hex");
    const header = Buffer.from("301306072a8648ce3d020106082a8648ce3d030107", "hex");
    const content = Buffer.concat([header, Buffer.from([3, bits.length]), bits]);
    return createPublicKey({ key: Buffer.concat([Buffer.from([0x30, content.length]), content]), format: "der", type: "spki" });
  };
  test.each([`04${point}`, `02${point.slice(0, 64)}`])("refuses a key that was published, however it is written", (encoded) => {
    expect(judgeKey(onP256(encoded))).toEqual({ fault: "has been published: anybody has its private half (RFC 9500)" });
  });

  test("a point that is not on its curve is no key", () => {
    expect(() => onP256(`04${point.slice(0, -2)}73`)).toThrow();
  });
});

test("Fermat's method finds what it should in numbers of any size, and nothing in products of random primes", () => {
  expect([15n, 35n, 1_000_003n * 1_000_033n].map(hasCloseFactors)).toEqual([true, true, true]);
  expect([3n * 1_000_003n * 7n, prime(256) * prime(512)].map(hasCloseFactors)).toEqual([false, false]);
  const { n = "" } = generateKeyPairSync("rsa", { modulusLength: 2_048 }).publicKey.export({ format: "jwk" });
  expect(hasCloseFactors(BigInt(`0x${Buffer.from(n, "base64url").toString("hex")}`))).toBe(false);
});
