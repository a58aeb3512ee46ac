/** The entity tag of a resource's version. */
export const etag = (version: number) => `"${version}"`;

/**
 * The version that `If-Match` asks for: undefined without the header or with `*`, and -1, which no resource has, for
 * a tag that this server never made. A list matches when its first strong tag does.
 */
export function ifMatch(headers: Headers) {
  const value = headers.get("if-match")?.trim();
  if (value === undefined || value === "*") return;
  const version = /^"(\d{1,9})"$/.exec(value)?.[1];
  return version === undefined ? -1 : Number(version);
}

/** True when `If-None-Match` names the tag, or any: what the caller has is still good. */
export function matchesNone(headers: Headers, tag: string) {
  const known = headers.get("if-none-match")?.split(",") ?? [];
  return known.some((each) => [tag, "*"].includes(each.trim().replace(/^W\//, "")));
}
