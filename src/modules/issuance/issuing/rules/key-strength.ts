import type { KeyObject } from "node:crypto";
import { sha256 } from "#crypto/sha256";
import { hasCloseFactors } from "./factors";
import { hasRocaFingerprint } from "./roca";

const CURVES: Record<string, string> = { prime256v1: "ecdsa-p256", secp384r1: "ecdsa-p384", secp521r1: "ecdsa-p521" };
/**
 * Keys that anybody has, by the SHA-256 of their modulus or x in base64url, however else they are written: those of RFC 9500, which stand
 * in tests and examples.
 */
const PUBLISHED = new Set([
  "29140f3d869d3b7c61761d4d225c35fa2de9629f66f85562175266eeb3680d58",
  "202b7bb0e4f87da8a8be94e6bf2e75685793db4dc4ec98cd926c0ccd4c325417",
  "3692fe354371e98ba6d5884087bef124fb2e18d38b6f36072daf3a2d1d405b8f",
  "ee083d060d0f5fdf04571c3770226ce2661e801a788f23c07c4948ef08ab221f",
  "eee847516816fef570a3dad2f03d42b9994d1418cb98a2981b3d155e489cfa5e",
]);
const MIN_RSA = 2_048;
const MAX_RSA = 8_192;

/** The name of a key's algorithm, or why no certificate should have it. */
export function judgeKey(key: KeyObject): { algorithm: string } | { fault: string } {
  const kind = kindOf(key);
  if ("fault" in kind) return kind;
  const { n, x } = key.export({ format: "jwk" });
  return PUBLISHED.has(sha256(n ?? x ?? "")) ? { fault: "has been published: anybody has its private half (RFC 9500)" } : kind;
}

function kindOf(key: KeyObject): { algorithm: string } | { fault: string } {
  const { namedCurve = "", modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType === "ed25519") return { algorithm: "ed25519" };
  if (key.asymmetricKeyType === "ec") {
    const algorithm = CURVES[namedCurve];
    return algorithm ? { algorithm } : { fault: `is on the curve ${namedCurve || "of its own"}: P-256, P-384 and P-521 are accepted` };
  }
  if (key.asymmetricKeyType !== "rsa") return { fault: "is neither EC, RSA nor Ed25519" };
  const fault = findRsaFault(key);
  return fault === undefined ? { algorithm: `rsa-${modulusLength}` } : { fault };
}

function findRsaFault(key: KeyObject) {
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  if (modulusLength < MIN_RSA || modulusLength > MAX_RSA) return `has ${modulusLength} bits: RSA keys of ${MIN_RSA} to ${MAX_RSA} bits are accepted`;
  if (publicExponent < 65_537n || publicExponent % 2n === 0n || publicExponent >= 1n << 64n)
    return `has the public exponent ${shorten(publicExponent)}, which must be odd, at least 65537 and below 2^64`;
  const modulus = modulusOf(key);
  if (modulus % 2n === 0n || hasSmallFactor(modulus)) return "has a modulus with a small factor";
  if (hasRocaFingerprint(modulus)) return "was made by a library whose keys can be factored (ROCA, CVE-2017-15361)";
  if (hasCloseFactors(modulus)) return "has two factors that are close to each other (CVE-2022-26320)";
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
