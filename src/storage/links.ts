import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { Presentation } from "./store";

const METHOD = "GET";
const NAMES = ["expires", "keyId", "name", "signature", "type"];

export type Link = Presentation & { key: string; expiresAt: Date };

/** Links that carry their own permission: HMAC-SHA256 over the method, the object, how it is shown, the expiry and the key's id. */
export function createLinks(secretsKey: Uint8Array) {
  const signingKey = Buffer.from(hkdfSync("sha256", secretsKey, "", "certitude file links", 32));
  const hmac = (text: string) => createHmac("sha256", signingKey).update(text).digest();
  /** Tells links of another SECRETS_KEY apart without telling the key. */
  const keyId = hmac("key id").toString("hex").slice(0, 16);

  const signature = ({ key, fileName, mediaType }: Presentation & { key: string }, expires: string) =>
    hmac(JSON.stringify([METHOD, key, fileName, mediaType, expires, keyId])).toString("base64url");

  function sign({ expiresAt, ...object }: Link) {
    const expires = String(Math.floor(expiresAt.getTime() / 1000));
    return new URLSearchParams({ expires, keyId, name: object.fileName, type: object.mediaType, signature: signature(object, expires) }).toString();
  }

  /** What the link to `key` promises; undefined unless each parameter is there exactly once and the signature is ours. */
  function read(key: string, query: URLSearchParams): Link | undefined {
    if ([...query.keys()].toSorted().join() !== NAMES.join()) return;
    const [expires = "", givenKeyId, fileName = "", given = "", mediaType = ""] = NAMES.map((name) => query.get(name) ?? "");
    const object = { key, fileName, mediaType };
    const isOurs = timingSafeEqual(hmac(given), hmac(signature(object, expires)));
    if (!isOurs || givenKeyId !== keyId) return;
    return { ...object, expiresAt: new Date(Number(expires) * 1000) };
  }

  return { sign, read };
}
