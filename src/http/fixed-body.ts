import { sha256 } from "#crypto/sha256";
import { CODINGS, type Coding, chooseCoding, compressSync } from "./compression";
import { matchesNone } from "./etag";

/** A body that stays the same while the server runs, with its strong tag. */
export type FixedBody = { text: string; etag: string };

type Context = { request: Request; set: { headers: Record<string, unknown> } };

const compressed = new WeakMap<FixedBody, Map<Coding, Uint8Array>>();

export const fixBody = (text: string): FixedBody => ({ text, etag: `"${sha256(text).slice(0, 32)}"` });

/** 200 in the coding that the caller prefers, each compressed once and kept, or 304 when the caller has it in any of them. */
export function answerFixed({ request, set }: Context, fixed: FixedBody, headers: Record<string, string>) {
  const { coding } = chooseCoding(request);
  const known = request.headers.has("if-none-match") ? findKnown(request.headers, fixed, coding) : undefined;
  const vary = set.headers.vary ? `${set.headers.vary}, Accept-Encoding` : "Accept-Encoding"; // CORS varies by the origin
  const caching = { ...headers, etag: known ?? tagOf(fixed, coding), vary };
  if (known) return new Response(null, { status: 304, headers: caching }) as never;
  if (!coding) return new Response(fixed.text, { headers: caching }) as never;
  return new Response(encode(fixed, coding), { headers: { ...caching, "content-encoding": coding } }) as never;
}

/** The tag that the caller has: a strong one is one coding's (RFC 9110, 8.8.3.3), so that each has its own. */
const findKnown = (headers: Headers, fixed: FixedBody, coding: Coding | undefined) =>
  [coding, undefined, ...CODINGS].map((each) => tagOf(fixed, each)).find((tag) => matchesNone(headers, tag));

const tagOf = ({ etag }: FixedBody, coding: Coding | undefined) => (coding ? `${etag.slice(0, -1)}-${coding}"` : etag);

function encode(fixed: FixedBody, coding: Coding) {
  const variants = compressed.getOrInsertComputed(fixed, () => new Map());
  return variants.getOrInsertComputed(coding, () => compressSync[coding](Buffer.from(fixed.text)));
}
