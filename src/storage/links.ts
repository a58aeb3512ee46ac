import { createHmac, timingSafeEqual } from "node:crypto";
import type { Keyring } from "#crypto/keyring";
import type { Presentation } from "./store";

const METHOD = "GET";
const NAMES = ["expires", "keyId", "name", "signature", "type"];

export type Link = Presentation & { key: string; expiresAt: Date };

/** Links that carry their own permission: HMAC-SHA256 over the method, the object, how it is shown, the expiry and the key's id. */
export function createLinks(keyring: Keyring) {
  /** A signing key of its own from each key of the ring: the first one signs, and what any of them signed holds. */
  const signers = () => keyring.derive("certitude file links").map(createSigner);

  function sign({ expiresAt, ...object }: Link) {
    const [signer] = signers();
    if (!signer) throw new Error("There is no key to sign links with.");
    const expires = String(Math.floor(expiresAt.getTime() / 1000));
    const signature = signer.signature(object, expires);
    return new URLSearchParams({ expires, keyId: signer.keyId, name: object.fileName, type: object.mediaType, signature }).toString();
  }

  /** What the link to `key` promises; undefined unless each parameter is there exactly once and the signature is ours. */
  function read(key: string, query: URLSearchParams): Link | undefined {
    if ([...query.keys()].toSorted().join() !== NAMES.join()) return;
    const [expires = "", keyId, fileName = "", given = "", mediaType = ""] = NAMES.map((name) => query.get(name) ?? "");
    const object = { key, fileName, mediaType };
    const signer = signers().find((each) => each.keyId === keyId);
    if (!signer || !timingSafeEqual(signer.hmac(given), signer.hmac(signer.signature(object, expires)))) return;
    return { ...object, expiresAt: new Date(Number(expires) * 1000) };
  }

  return { sign, read };
}

function createSigner(signingKey: Uint8Array) {
  const hmac = (text: string) => createHmac("sha256", signingKey).update(text).digest();
  /** Tells the keys apart without telling them; it is no secret, every link shows it. */
  const keyId = hmac("key id").toString("hex").slice(0, 16);
  const signature = ({ key, fileName, mediaType }: Presentation & { key: string }, expires: string) =>
    hmac(JSON.stringify([METHOD, key, fileName, mediaType, expires, keyId])).toString("base64url");
  return { hmac, keyId, signature };
}
