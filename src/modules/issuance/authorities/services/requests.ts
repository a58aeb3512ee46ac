import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { judgeKey } from "#modules/issuance/issuing/rules/key-strength";
import { children, contentOf, type Der, DerError, readOne, TAG } from "#x509/der";
import { readSignatureAlgorithm } from "#x509/keys";

/** The public key of a request, as SubjectPublicKeyInfo in DER. */
type RequestedKey = { publicKey: Uint8Array; isRsa: boolean };

/** In bytes: a request holds a key and some names. */
const MAX_REQUEST = 64 * 1024;
const SIGNATURES = /^(sha(256|384|512)WithRSAEncryption|ecdsa-with-SHA(256|384|512))$/;
/** Reads a PKCS #10 request in DER, whose signature proves that its sender has the key. Returns the key, or what is wrong as a sentence. */
export function readRequest(der: Uint8Array): RequestedKey | { invalid: string } {
  if (der.length > MAX_REQUEST) return { invalid: `The certificate request is larger than ${MAX_REQUEST / 1024} KiB.` };
  try {
    const [info, algorithm, signature] = children(readOne(der), TAG.sequence);
    const [, , publicKey] = children(info, TAG.sequence);
    if (!info || !publicKey) throw new DerError("a field is missing");
    const key = openKey(publicKey);
    const invalid = keyFault(key) ?? signatureFault(info.raw, readSignatureAlgorithm(algorithm), key, contentOf(signature, TAG.bitString));
    return invalid ? { invalid } : { publicKey: publicKey.raw, isRsa: key?.asymmetricKeyType === "rsa" };
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { invalid: `The certificate request cannot be read: ${error.message}.` };
  }
}

/** Returns why a key cannot be certified. Browsers take no certificates of Ed25519. */
function keyFault(key: KeyObject | undefined) {
  if (!key) return "The key of the certificate request cannot be read.";
  const strength = judgeKey(key);
  if ("fault" in strength) return `The key ${strength.fault}.`;
  if (strength.algorithm === "ed25519") return "The key is of Ed25519; it must be RSA or EC.";
}

function signatureFault(signed: Uint8Array, algorithm: string, key: KeyObject | undefined, bits: Uint8Array) {
  if (!SIGNATURES.test(algorithm)) return `The certificate request is signed with ${algorithm}; it must be SHA-2 with RSA or ECDSA.`;
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
