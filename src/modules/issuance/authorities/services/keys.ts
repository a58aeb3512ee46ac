import { createPrivateKey, createPublicKey, type KeyObject, sign as signBytes } from "node:crypto";
import type { Keyring } from "#crypto/keyring";
import { oid, sequence } from "#x509/der-writer";
import type { KEY_ALGORITHMS } from "../schema";

export type KeyAlgorithm = (typeof KEY_ALGORITHMS)[number];
/** The row of a sealed key: it opens for no other, and beside no other public key. */
export type KeyRow = { organizationId: string; id: string; publicKey: string };
export type SealedKey = KeyRow & { sealedPrivateKey: Uint8Array };

const CURVES: Record<string, KeyAlgorithm> = { prime256v1: "ecdsa-p256", "P-256": "ecdsa-p256", secp384r1: "ecdsa-p384", "P-384": "ecdsa-p384" };
const RSA_SIZES: Record<number, KeyAlgorithm> = { 2048: "rsa-2048", 3072: "rsa-3072", 4096: "rsa-4096" };

/** How each key signs: its hash, what WebCrypto calls it, and its AlgorithmIdentifier. */
const ECDSA_P256 = { hash: "SHA-256", web: { name: "ECDSA", namedCurve: "P-256" }, identifier: sequence(oid("2a8648ce3d040302")) };
const ECDSA_P384 = { hash: "SHA-384", web: { name: "ECDSA", namedCurve: "P-384" }, identifier: sequence(oid("2a8648ce3d040303")) };
const RSA = { hash: "SHA-256", web: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, identifier: sequence(oid("2a864886f70d01010b"), Buffer.from([5, 0])) };

export function signatureOf(key: KeyObject) {
  const algorithm = algorithmOf(key);
  if (algorithm === undefined) throw new Error("an authority has a key of an algorithm that is not known");
  if (algorithm === "ecdsa-p256") return ECDSA_P256;
  return algorithm === "ecdsa-p384" ? ECDSA_P384 : RSA;
}

/** Returns which of the algorithms a key is of, undefined where it is of none. */
export function algorithmOf({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject) {
  const { namedCurve = "", modulusLength = 0 } = asymmetricKeyDetails ?? {};
  return asymmetricKeyType === "rsa" ? RSA_SIZES[modulusLength] : CURVES[namedCurve];
}

/** Returns the SubjectPublicKeyInfo of a private key in DER. */
export const publicKeyOf = (key: KeyObject): Buffer => createPublicKey(key as never).export({ type: "spki", format: "der" });

const contextOf = ({ organizationId, id, publicKey }: KeyRow) => `authority-key ${organizationId} ${id} ${publicKey}`;

export const sealKey = (keyring: Keyring, key: KeyObject, row: KeyRow) => keyring.seal(key.export({ type: "pkcs8", format: "pem" }).toString(), contextOf(row));

/** Opens an authority's key; no other place does. Callers leave an audit event of each signature. */
export const openKey = (keyring: Keyring, { sealedPrivateKey, ...row }: SealedKey) => createPrivateKey(keyring.unseal(sealedPrivateKey, contextOf(row)));

/** Signs beside the event loop. */
export const sign = (key: KeyObject, bytes: Uint8Array) =>
  new Promise<Buffer>((resolve, reject) =>
    signBytes(signatureOf(key).hash.replace("-", ""), bytes, key, (error, signature) => (error ? reject(error) : resolve(signature))),
  );

/** The key as WebCrypto wants it. */
export const webKeyOf = (key: KeyObject) =>
  crypto.subtle.importKey("pkcs8", key.export({ type: "pkcs8", format: "der" }), signatureOf(key).web, false, ["sign"]);
