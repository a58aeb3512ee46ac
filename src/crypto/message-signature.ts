import type { KeyObject } from "node:crypto";
import { isSignatureOf, type PublicKey, signText } from "./ed25519";
import { sha256 } from "./sha256";

/**
 * A part of an HTTP message signature (RFC 9421) as agents and servers use it: Ed25519, label `certitude`, `keyid` is the
 * public key. Proxies may change host and scheme, so they are not signed.
 */
export type Component = readonly [name: string, value: string];

/** A signature that a message carries; what it signs must still be compared. */
export type Signature = { keyId: PublicKey; created: number; value: string };

const INPUT = /^certitude=\(([^)]*)\);created=(\d{1,12});keyid="([\w-]{43})";alg="ed25519"$/;
const VALUE = /^certitude=:([A-Za-z0-9+/]{86}==):$/;

const namesOf = (components: readonly Component[]) => components.map(([name]) => `"${name}"`).join(" ");
const parametersOf = (names: string, { created, keyId }: Pick<Signature, "created" | "keyId">) =>
  `(${names});created=${created};keyid="${keyId}";alg="ed25519"`;

/** The signature base (RFC 9421, 2.5). */
const baseOf = (components: readonly Component[], parameters: string) =>
  [...components.map(([name, value]) => `"${name}": ${value}`), `"@signature-params": ${parameters}`].join("\n");

/** Returns the two header fields that sign the components; `created` in seconds since 1970. */
export function signMessage(components: readonly Component[], { publicKey, key }: { publicKey: PublicKey; key: KeyObject }, created: number) {
  const parameters = parametersOf(namesOf(components), { created, keyId: publicKey });
  return { "signature-input": `certitude=${parameters}`, signature: `certitude=:${signText(baseOf(components, parameters), key)}:` };
}

/** Returns the signature that the headers carry, undefined where there is none in this shape. */
export function readSignature(headers: Headers): (Signature & { names: string }) | undefined {
  const [, names, created, keyId] = INPUT.exec(headers.get("signature-input") ?? "") ?? [];
  const [, value] = VALUE.exec(headers.get("signature") ?? "") ?? [];
  if (names === undefined || keyId === undefined || value === undefined) return;
  return { names, created: Number(created), keyId, value };
}

/** True where the signature is of exactly these components, in this order, by the key that it names. */
export const isSignedMessage = (components: readonly Component[], { names, created, keyId, value }: Signature & { names: string }) =>
  names === namesOf(components) && isSignatureOf(baseOf(components, parametersOf(names, { created, keyId })), keyId, value);

/** Returns the digest of a content, as `Content-Digest` and `Unencoded-Digest` write it (RFC 9530). */
export const digestOf = (content: string | Uint8Array) => `sha-256=:${sha256(content, "base64")}:`;
