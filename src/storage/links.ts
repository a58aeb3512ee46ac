import type { Keyring } from "#crypto/keyring";
import { createSignedQueries } from "#crypto/signed-query";
import type { Presentation } from "./store";

const METHOD = "GET";

export type Link = Presentation & { key: string; expiresAt: Date };

/** Links to objects: signed are the method, the object, how it is shown, and the expiry. */
export function createLinks(keyring: Keyring) {
  const queries = createSignedQueries(keyring, "certitude file links", ["name", "type", "expires"]);

  function sign({ expiresAt, key, fileName, mediaType }: Link) {
    return queries.sign([METHOD, key], { name: fileName, type: mediaType, expires: String(Math.floor(expiresAt.getTime() / 1000)) });
  }

  /** Returns what the link to `key` promises; undefined where it was not signed. */
  function read(key: string, query: URLSearchParams): Link | undefined {
    const link = queries.read([METHOD, key], query);
    return link && { key, fileName: link.name, mediaType: link.type, expiresAt: new Date(Number(link.expires) * 1000) };
  }

  return { sign, read };
}
