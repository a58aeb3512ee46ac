import { matchesNone, readTag, versionedTag } from "./etag";

/**
 * Gives a read's answer the tag of its version and bytes, because time changes an answer without a new version; 304 when the
 * caller has these bytes. HEAD keeps the version's tag.
 */
export async function answerConditionally(request: Request, answer: Response): Promise<Response> {
  const version = readTag(answer.headers.get("etag") ?? "");
  if (version === undefined) return answer;
  const bytes = await answer.bytes();
  const { headers } = answer;
  const tag = versionedTag(version, bytes);
  headers.set("etag", tag);
  if (!matchesNone(request.headers, tag)) return new Response(bytes, { headers });
  headers.delete("content-type");
  return new Response(null, { status: 304, headers });
}

export const isConditional = ({ method }: Request, { status, headers }: Response) => method === "GET" && status === 200 && headers.has("etag");
