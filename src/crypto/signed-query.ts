import { createHmac, timingSafeEqual } from "node:crypto";
import type { Keyring } from "./keyring";

/**
 * Query strings that carry their own permission: HMAC-SHA256 over context, parameters and key id, with a signing key derived
 * from each key of the ring. The first signs; a signature by any of them holds.
 */
export function createSignedQueries<const Name extends string>(keyring: Keyring, purpose: string, names: readonly Name[]) {
  type Values = Record<Name, string>;
  const expected = [...names, "keyId", "signature"].toSorted().join();
  const signers = () => keyring.derive(purpose).map(createSigner);

  function sign(bound: readonly string[], values: Values) {
    const [signer] = signers();
    if (!signer) throw new Error("There is no key to sign with.");
    const signed = names.map((name) => values[name]);
    return new URLSearchParams({ keyId: signer.keyId, ...values, signature: signer.signature([...bound, ...signed]) }).toString();
  }

  /** Returns what the query says; undefined unless each parameter is there exactly once and the signature is ours. */
  function read(bound: readonly string[], query: URLSearchParams): Values | undefined {
    if ([...query.keys()].toSorted().join() !== expected) return;
    const values = names.map((name) => query.get(name) ?? "");
    const signer = signers().find(({ keyId }) => keyId === query.get("keyId"));
    if (!signer?.isEqual(query.get("signature") ?? "", signer.signature([...bound, ...values]))) return;
    return Object.fromEntries(names.map((name, index) => [name, values[index]])) as Values;
  }

  return { sign, read };
}

function createSigner(key: Uint8Array) {
  const hmac = (text: string) => createHmac("sha256", key).update(text).digest();
  /** Distinguishes the keys without showing them; it is no secret, every link shows it. */
  const keyId = hmac("key id").toString("hex").slice(0, 16);
  return {
    keyId,
    signature: (parts: readonly string[]) => hmac(JSON.stringify([...parts, keyId])).toString("base64url"),
    isEqual: (one: string, other: string) => timingSafeEqual(hmac(one), hmac(other)),
  };
}
