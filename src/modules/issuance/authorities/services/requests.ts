import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { children, contentOf, type Der, DerError, readInteger, readOne, TAG } from "#modules/certificates/certificates/x509/der";
import { readKey, readSignatureAlgorithm } from "#modules/certificates/certificates/x509/keys";
import { hasRocaFingerprint } from "../rules/roca";

/** The public key of a request, as SubjectPublicKeyInfo in DER. */
type RequestedKey = { publicKey: Uint8Array; isRsa: boolean };

/** In bytes: a request holds a key and some names. */
const MAX_REQUEST = 64 * 1024;
const CURVES = ["P-256", "P-384", "P-521"];
const SIGNATURES = /^(sha(256|384|512)WithRSAEncryption|ecdsa-with-SHA(256|384|512))$/;
/** In bits. A larger key would keep each client that checks it. */
const RSA = { min: 2_048, max: 8_192 };
const LEAST_EXPONENT = 65_537n;

/** Reads a PKCS #10 request in DER, whose signature proves that its sender has the key. Returns the key, or what is wrong as a sentence. */
export function readRequest(der: Uint8Array): RequestedKey | { invalid: string } {
  if (der.length > MAX_REQUEST) return { invalid: `The certificate request is larger than ${MAX_REQUEST / 1024} KiB.` };
  try {
    const [info, algorithm, signature] = children(readOne(der), TAG.sequence);
    const [, , publicKey] = children(info, TAG.sequence);
    if (!info || !publicKey) throw new DerError("a field is missing");
    const invalid = keyFault(publicKey) ?? signatureFault(info.raw, readSignatureAlgorithm(algorithm), publicKey, contentOf(signature, TAG.bitString));
    return invalid ? { invalid } : { publicKey: publicKey.raw, isRsa: readKey(publicKey).algorithm === "RSA" };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { invalid: `The certificate request cannot be read: ${error.message}.` };
  }
}

/** What is wrong with a SubjectPublicKeyInfo that is to be certified. */
function keyFault(publicKey: Der) {
  const { algorithm, size, curve } = readKey(publicKey);
  if (algorithm === "EC") return CURVES.includes(curve ?? "") ? undefined : `The key is on the curve ${curve}; it must be one of ${CURVES.join(", ")}.`;
  if (algorithm !== "RSA") return `The key is of the algorithm ${algorithm}; it must be RSA or EC.`;
  if (size === null || size < RSA.min || size > RSA.max) return `The RSA key has ${size ?? 0} bits; it must have ${RSA.min} to ${RSA.max}.`;
  const [modulus = 0n, exponent = 0n] = rsaNumbers(publicKey);
  if (exponent < LEAST_EXPONENT || exponent % 2n === 0n || exponent >= 1n << 64n)
    return "The RSA key has a public exponent that is not odd, or too small or large.";
  if (modulus % 2n === 0n) return "The RSA key has an even modulus.";
  if (hasRocaFingerprint(modulus)) return "The RSA key was made by a broken generator (ROCA, CVE-2017-15361).";
}

function rsaNumbers(publicKey: Der) {
  const [, bits] = children(publicKey, TAG.sequence);
  return children(readOne(contentOf(bits, TAG.bitString).subarray(1)), TAG.sequence).map((each) => BigInt(`0x${readInteger(each).replace("-", "")}`));
}

function signatureFault(signed: Uint8Array, algorithm: string, publicKey: Der, bits: Uint8Array) {
  if (!SIGNATURES.test(algorithm)) return `The certificate request is signed with ${algorithm}; it must be SHA-2 with RSA or ECDSA.`;
  const key = openKey(publicKey);
  const hash = `SHA${/\d{3}/.exec(algorithm)?.[0]}`;
  if (!key || !verify(hash, signed, key, bits.subarray(1))) return "The signature of the certificate request is not by its key.";
}

function openKey(publicKey: Der): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(publicKey.raw), format: "der", type: "spki" });
  } catch {
    return; // a point that is on no curve
  }
}
