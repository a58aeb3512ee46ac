import { sha256 } from "#crypto/sha256";
import { CODINGS, type Coding, chooseCoding, compressSync } from "./compression";
import { matchesNone } from "./etag";

/** A body that stays the same while the server runs, with its strong tag and the other headers of its answers. */
export type FixedBody = { text: string; etag: string; headers: Record<string, string>; variants: Map<Coding | undefined, Variant> };
/** The runtime sends a Blob as it lies, where it copies text and bytes for each answer; so too an object of Headers. */
type Variant = { body: Blob; headers: Headers };

type Context = { request: Request; set: { headers: Record<string, unknown> } };

export const fixBody = (text: string, headers: Record<string, string>): FixedBody => ({
  text,
  etag: `"${sha256(text).slice(0, 32)}"`,
  headers,
  variants: new Map(),
});

/** 200 in the coding that the caller prefers, each compressed once and kept, or 304 when the caller has it in any of them. */
export function answerFixed({ request, set }: Context, fixed: FixedBody) {
  const { coding } = chooseCoding(request);
  const known = request.headers.has("if-none-match") ? findKnown(request.headers, fixed, coding) : undefined;
  const answer = known ? new Response(null, { status: 304, headers: cachingOf(fixed, known) }) : answerWhole(fixed, coding);
  if (set.headers.vary) answer.headers.set("vary", `${set.headers.vary}, Accept-Encoding`); // CORS varies by the origin
  return answer as never;
}

/** The tag that the caller has: a strong one is one coding's (RFC 9110, 8.8.3.3), so that each has its own. */
const findKnown = (headers: Headers, fixed: FixedBody, coding: Coding | undefined) =>
  [coding, undefined, ...CODINGS].map((each) => tagOf(fixed, each)).find((tag) => matchesNone(headers, tag));

const tagOf = ({ etag }: FixedBody, coding: Coding | undefined) => (coding ? `${etag.slice(0, -1)}-${coding}"` : etag);

const cachingOf = ({ headers }: FixedBody, etag: string) => ({ ...headers, etag, vary: "Accept-Encoding" });

function answerWhole(fixed: FixedBody, coding: Coding | undefined) {
  const { body, headers } = fixed.variants.getOrInsertComputed(coding, () => encode(fixed, coding));
  return new Response(body, { headers });
}

function encode(fixed: FixedBody, coding: Coding | undefined): Variant {
  const headers = new Headers(cachingOf(fixed, tagOf(fixed, coding)));
  if (!coding) return { body: new Blob([fixed.text]), headers };
  headers.set("content-encoding", coding);
  return { body: new Blob([compressSync[coding](Buffer.from(fixed.text))]), headers };
}
