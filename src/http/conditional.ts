import { matchesNone, readTag, versionedTag } from "./etag";

/**
 * Gives what a read answers the tag of its version and of its bytes: a certificate expires, and an agent reports, without a new version. Returns
 * 304 when the caller has just these bytes. HEAD has no bytes, and keeps the tag of the version alone.
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
