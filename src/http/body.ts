import { startClock } from "./deadline";
import { Refusal } from "./errors";

const MIB = 1024 * 1024;
const LARGE = new Map([["/organizations/:organizationId/certificates", 8 * MIB]]);
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** True for the methods that change nothing. */
export const isReading = ({ method }: Request) => method === "GET" || method === "HEAD";

type Context = { request: Request; route: string; body: unknown };

/** Guards call it once they know the caller, so that nobody else makes the server read a body. */
export async function readBody(context: Context) {
  const { request } = context;
  if (isReading(request) || !request.body) return;
  const bytes = await readBytes(request, LARGE.get(context.route) ?? MIB);
  startClock(request);
  if (bytes.length > 0) context.body = parseJson(bytes, request.headers.get("content-type"));
}

async function readBytes(request: Request, limit: number) {
  const tooLarge = () => new Refusal(413, `The body is larger than ${limit / MIB} MiB.`, { connection: "close" });
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge();
  if (request.headers.has("content-length")) return new Uint8Array(await request.arrayBuffer());
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body as ReadableStream<Uint8Array>) {
    size += part.length;
    if (size > limit) throw tooLarge();
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function parseJson(bytes: Uint8Array, contentType: string | null): unknown {
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType ?? ""))
    throw new Refusal(415, "The body must be JSON: send content-type: application/json.");
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Refusal(400, "The body is not valid JSON in UTF-8, or is nested too deep.");
  }
}
