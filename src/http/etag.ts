/** The entity tag of a resource's version. */
export const etag = (version: number) => `"${version}"`;

/** Longer ones match nothing. */
const MAX_HEADER = 4_096;
/** An element of a list of entity tags (RFC 9110, 8.8.3 and 5.6.1), empty ones too. */
const ELEMENT = /[ \t]*(?:(W\/)?"([!#-~\x80-\xff]*)"[ \t]*)?(?:,|$)/y;
/** A version, and in the tag of a read what distinguishes its bytes from others. */
const VERSION = /^(0|[1-9]\d{0,8})(?:-[0-9a-z]{1,13})?$/;

/** The tag of a read: If-Match takes it for the version. */
export const versionedTag = (version: number, bytes: Uint8Array) => `"${version}-${Bun.hash(bytes).toString(36)}"`;

/** Returns the version that a tag names; undefined for a tag that this server made of no version. */
export function readTag(tag: string) {
  const version = VERSION.exec(/^"(.*)"$/.exec(tag)?.[1] ?? "")?.[1];
  return version === undefined ? undefined : Number(version);
}

/**
 * Returns the versions that `If-Match` accepts; undefined, which is any, without the header or with `*`. Comparison is strong
 * (RFC 9110, 13.1.1): weak, foreign and malformed tags match nothing.
 */
export function ifMatch(headers: Headers): number[] | undefined {
  const value = headers.get("if-match")?.trim();
  if (value === undefined || value === "*") return;
  const versions = new Set<number>();
  if (value.length > MAX_HEADER) return [];
  for (ELEMENT.lastIndex = 0; ELEMENT.lastIndex < value.length; ) {
    const element = ELEMENT.exec(value);
    if (!element) return [];
    const [, weak, tag = ""] = element;
    const version = weak ? undefined : readTag(`"${tag}"`);
    if (version !== undefined) versions.add(version);
  }
  return [...versions];
}

/** True when `If-None-Match` names the tag, or any: what the caller has is still good. */
export function matchesNone(headers: Headers, tag: string) {
  const known = headers.get("if-none-match")?.split(",") ?? [];
  return known.some((each) => [tag, "*"].includes(each.trim().replace(/^W\//, "")));
}
