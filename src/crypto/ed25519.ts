import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from "node:crypto";

/** An Ed25519 public key as text: the base64url of its 32 bytes. */
export type PublicKey = string;
/** A key pair; `privateKey` is its PEM in PKCS #8. */
export type KeyPair = { publicKey: PublicKey; privateKey: string };

const TEXT = /^[\w-]{43}$/;
/**
 * The points of small order, in hexadecimal with the sign bit cleared: with such a key a signature of any text can be made
 * without a private key (the list is libsodium's).
 */
const SMALL_ORDER = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

/** Returns a new key pair. */
export function generateKeyPair(): KeyPair {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  return { publicKey: String(publicKey.export({ format: "jwk" }).x), privateKey: String(privateKey.export({ type: "pkcs8", format: "pem" })) };
}

/** Returns the key of a PEM; throws where it is none, or one of another kind. */
export function readPrivateKey(pem: string): KeyObject {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== "ed25519") throw new Error("The private key is not an Ed25519 key.");
  return key;
}

/** True for text that can be a public key: 32 bytes in canonical base64url, and no point of small order. */
export function isPublicKey(text: string): text is PublicKey {
  if (!TEXT.test(text)) return false;
  const bytes = Buffer.from(text, "base64url");
  if (bytes.length !== 32 || bytes.toString("base64url") !== text) return false;
  bytes[31] = (bytes[31] ?? 0) & 0x7f;
  return !SMALL_ORDER.has(bytes.toString("hex"));
}

/** Returns the signature of a text in base64. */
export const signText = (text: string, key: KeyObject) => sign(null, Buffer.from(text), key).toString("base64");

/** True where the text was signed with the key's private half. */
export function isSignatureOf(text: string, publicKey: PublicKey, signature: string) {
  if (!isPublicKey(publicKey)) return false;
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });
  return verify(null, Buffer.from(text), key, Buffer.from(signature, "base64"));
}
