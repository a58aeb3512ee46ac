import { X509Certificate } from "node:crypto";
import { hash, isSignedBy, publicKeyOf } from "./facts";
import { readPem } from "./pem";

/** Returns the SHA-256 of the one certificate that a stored PEM holds, undefined where it holds anything else. */
export function fingerprintIn(pem: string) {
  const [block, ...more] = readPem(pem);
  return block && "bytes" in block && block.label === "CERTIFICATE" && more.length === 0 ? hash("sha256", block.bytes) : undefined;
}

/** True where each certificate of the chain signed the one before it, the first one `pem`. */
export function isChainOf(pem: string, chain: readonly string[]) {
  return chain.every((issuer, index) => hasSigned(chain[index - 1] ?? pem, issuer));
}

/** Pairs of which it is remembered whether one signed the other: a signature is checked in a tenth of a millisecond, and again at each poll. */
const MAX_PAIRS = 20_000;
const pairs = new Map<string, boolean>();

function hasSigned(child: string, issuer: string) {
  const [one, other] = [fingerprintIn(child), fingerprintIn(issuer)];
  if (one === undefined || other === undefined) return false;
  const pair = `${one} ${other}`;
  const known = pairs.get(pair);
  if (known !== undefined) return known;
  const isSigned = isSignedBy(new X509Certificate(child), publicKeyOf(new X509Certificate(issuer)));
  if (pairs.size >= MAX_PAIRS) pairs.clear();
  pairs.set(pair, isSigned);
  return isSigned;
}
