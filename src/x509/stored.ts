import { X509Certificate } from "node:crypto";
import { hash, isSignedBy, publicKeyOf } from "./facts";
import { readPem } from "./pem";

/** Texts of which the fingerprint is remembered: some are asked for by every agent. */
const MAX_TEXTS = 5_000;
/** In characters; longer ones are rare, and would fill the memory. */
const MAX_LENGTH = 8_192;
const fingerprints = new Map<string, string | undefined>();

/** Returns the SHA-256 of the one certificate that a stored PEM holds, undefined where it holds anything else. */
export function fingerprintIn(pem: string) {
  if (fingerprints.has(pem)) return fingerprints.get(pem);
  const fingerprint = readFingerprint(pem);
  if (fingerprints.size >= MAX_TEXTS) fingerprints.clear();
  if (pem.length <= MAX_LENGTH) fingerprints.set(pem, fingerprint);
  return fingerprint;
}

function readFingerprint(pem: string) {
  const [block, ...more] = readPem(pem);
  return block && "bytes" in block && block.label === "CERTIFICATE" && more.length === 0 ? hash("sha256", block.bytes) : undefined;
}

/** True where each certificate of the chain signed the one before it, the first one `pem`. */
export function isChainOf(pem: string, chain: readonly string[]) {
  return chain.every((issuer, index) => hasSigned(chain[index - 1] ?? pem, issuer));
}

/**
 * Pairs of which it is remembered whether one signed the other: a signature is checked in a tenth of a millisecond, and again
 * at each poll.
 */
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
