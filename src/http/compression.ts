import { promisify } from "node:util";
import zlib from "node:zlib";
import { isReading } from "./body";

/** Best first: where the caller takes them alike, zstd makes the same size in a third of gzip's time. */
export const CODINGS = ["zstd", "br", "gzip"] as const;
export type Coding = (typeof CODINGS)[number];
/** The coding of an answer; undefined is identity, which some callers refuse. */
type Choice = { coding: Coding | undefined; refusesIdentity: boolean };

/** Bytes from which compressing pays: what fits in a packet or two arrives no sooner. */
const MIN_SIZE = 2_048;
/** Bytes from which a thread of its own pays; below, its start costs more than the work. */
const LARGE = 32_768;
const REMEMBERED_HEADERS = 100;
const BROTLI = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };
const [gzip, brotli] = [promisify(zlib.gzip), promisify<Uint8Array, zlib.BrotliOptions, Uint8Array>(zlib.brotliCompress)];

/** In a thread of its own: the event loop goes on. */
const compressAside: Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>> = {
  zstd: (bytes) => Bun.zstdCompress(bytes),
  br: (bytes) => brotli(bytes, BROTLI),
  gzip: (bytes) => gzip(bytes),
};

export const compressSync: Record<Coding, (bytes: Uint8Array) => Uint8Array> = {
  zstd: (bytes) => Bun.zstdCompressSync(bytes),
  br: (bytes) => zlib.brotliCompressSync(bytes, BROTLI),
  gzip: (bytes) => zlib.gzipSync(bytes),
};

const choices = new Map<string, Choice>();

/** The coding that `Accept-Encoding` prefers among ours (RFC 9110, 12.5.3). */
export function chooseCoding({ headers }: Request): Choice {
  const accepted = headers.get("accept-encoding");
  if (accepted === null) return { coding: undefined, refusesIdentity: false };
  const known = choices.get(accepted);
  if (known) return known;
  const choice = choose(accepted);
  if (choices.size < REMEMBERED_HEADERS) choices.set(accepted, choice);
  return choice;
}

function choose(accepted: string): Choice {
  const weights = new Map(accepted.split(",").flatMap(readWeight));
  const weigh = (name: string) => weights.get(name) ?? weights.get("*");
  const [best = "gzip"] = CODINGS.toSorted((one, other) => (weigh(other) ?? 0) - (weigh(one) ?? 0));
  const weight = weigh(best) ?? 0;
  return { coding: weight > 0 && weight >= (weigh("identity") ?? 0) ? best : undefined, refusesIdentity: weigh("identity") === 0 };
}

function readWeight(entry: string): [string, number][] {
  const [, name = "", weight = "1"] = /^\s*([\w*-]+)\s*(?:;\s*q\s*=\s*([01](?:\.\d{0,3})?)\s*)?$/i.exec(entry) ?? [];
  return name === "" ? [] : [[name.toLowerCase().replace(/^x-(?=gzip$)/, ""), Math.min(1, Number(weight))]];
}

/**
 * Returns true for JSON and text in the answer to a read. Never for writes (they may hold a secret), for a version's ETag
 * (If-Match needs it unchanged) or for files (byte ranges).
 */
export const isCompressible = (request: Request, { status, headers }: Response) =>
  status === 200 &&
  isReading(request) &&
  !headers.has("etag") &&
  /^(application\/json|text\/plain)/.test(headers.get("content-type") ?? "") &&
  !headers.has("content-encoding") &&
  !headers.has("content-disposition");

/** The answer, compressed if it is large and the caller takes that. */
export async function compressAnswer(request: Request, answer: Response): Promise<Response> {
  answer.headers.append("vary", "Accept-Encoding");
  const { coding, refusesIdentity } = chooseCoding(request);
  if (!coding || request.method === "HEAD") return answer; // Elysia has dropped HEAD's body, so its headers are those of identity
  const bytes = await answer.bytes();
  const { headers } = answer;
  if (bytes.length < MIN_SIZE && !refusesIdentity) return new Response(bytes, { headers });
  headers.set("content-encoding", coding);
  return new Response(bytes.length < LARGE ? compressSync[coding](bytes) : await compressAside[coding](bytes), { headers });
}
