import type { KeyObject } from "node:crypto";
import { hasRocaFingerprint } from "#modules/issuance/authorities/rules/roca";

const CURVES: Record<string, string> = { prime256v1: "ecdsa-p256", secp384r1: "ecdsa-p384", secp521r1: "ecdsa-p521" };
const MIN_RSA = 2_048;
const MAX_RSA = 8_192;

/** The name of a key's algorithm, or why no certificate should have it. */
export function judgeKey(key: KeyObject): { algorithm: string } | { fault: string } {
  const { namedCurve = "", modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ed25519") return { algorithm: "ed25519" };
  if (key.asymmetricKeyType === "ec") {
    const algorithm = CURVES[namedCurve];
    return algorithm ? { algorithm } : { fault: `is on the curve ${namedCurve || "of its own"}: P-256, P-384 and P-521 are accepted` };
  }
  if (key.asymmetricKeyType !== "rsa") return { fault: "is neither EC, RSA nor Ed25519" };
  if (modulusLength < MIN_RSA || modulusLength > MAX_RSA) return { fault: `has ${modulusLength} bits: RSA keys of ${MIN_RSA} to ${MAX_RSA} bits are accepted` };
  if (publicExponent < 65_537n || publicExponent % 2n === 0n || publicExponent >= 1n << 64n)
    return { fault: `has the public exponent ${shorten(publicExponent)}, which must be odd, at least 65537 and below 2^64` };
  const modulus = modulusOf(key);
  if (modulus % 2n === 0n || hasSmallFactor(modulus)) return { fault: "has a modulus with a small factor" };
  if (hasRocaFingerprint(modulus)) return { fault: "was made by a library whose keys can be factored (ROCA, CVE-2017-15361)" };
  return { algorithm: `rsa-${modulusLength}` };
}

const shorten = (number: bigint) => (number < 1n << 64n ? `${number}` : "of more than 64 bits");
const modulusOf = (key: KeyObject) => BigInt(`0x${Buffer.from(key.export({ format: "jwk" }).n ?? "", "base64url").toString("hex")}`);

const PRIMES = primesBelow(752);
const PRODUCT = PRIMES.reduce((product, prime) => product * BigInt(prime), 1n);
/** One long division, then short ones (the CA/Browser Forum's Baseline Requirements, 6.1.6). */
function hasSmallFactor(modulus: bigint) {
  const rest = modulus % PRODUCT;
  return PRIMES.some((prime) => rest % BigInt(prime) === 0n);
}

function primesBelow(end: number) {
  const numbers = Array.from({ length: end - 3 }, (_, index) => index + 3);
  return numbers.filter((each) => numbers.every((other) => other >= each || each % other !== 0) && each % 2 !== 0);
}
