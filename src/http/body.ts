import { sha256 } from "#crypto/sha256";
import { whileArriving } from "./deadline";
import { Refusal } from "./errors";
import { exchangeOf, hideContext } from "./exchange";
import { hashForm, parseForm } from "./form";
import { claimWrite } from "./idempotency";
import { refuseDoubledKeys } from "./json-keys";

const MIB = 1024 * 1024;
const LARGE = new Map([
  ["/organizations/:organizationId/certificates", 8 * MIB],
  ["/organizations/:organizationId/ai-governance/ingest/metrics", 8 * MIB],
  ["/internal/knowledge/documents/:id/chunks", 8 * MIB],
  ["/admin/knowledge-base/documents", 51 * MIB],
]);
/** Routes whose bodies are small, in bytes: anybody may send one. */
const SMALL = new Map([["/pki/:authorityId/ocsp", 8 * 1024]]);
/** Routes that take a form, and how large its file may be. */
const FORMS = new Map([["/admin/knowledge-base/documents", 50 * MIB]]);
/** Seconds that a large body may take to arrive, data flowing or not: the longest that Bun counts to. */
const LARGE_BODY_IDLE_SECONDS = 255;
/** Deeper JSON would overflow the stack of what walks it: the validator, or Postgres with its jsonb. */
const LEVELS = 64;
/** Shadows an own `toString` field, on which Elysia crashes when it quotes a rejected value. */
const QUOTED = { value: () => "an object" };
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });

/** True for the methods that change nothing. */
export const isReading = ({ method }: Request) => method === "GET" || method === "HEAD";

type Context = { request: Request; body: unknown };

/** Guards call it once they know the caller, so that a stranger cannot make the server read a body. */
export const readBody = hideContext(async (context: Context) => {
  const { request } = context;
  if (isReading(request)) return;
  refuseCoding(request);
  const bytes = await receiveBody(request);
  if (bytes.length > MIB) await Bun.sleep(0); // to read, to parse and to check it each take their time
  const fileLimit = FORMS.get(exchangeOf(request).route ?? "");
  if (fileLimit !== undefined) return readForm(context, bytes, fileLimit);
  await parseBody(context, bytes);
  if (bytes.length > MIB) await Bun.sleep(0);
  await claimBody(request, bytes);
});

async function readForm(context: Context, bytes: Uint8Array<ArrayBuffer>, fileLimit: number) {
  if (bytes.length === 0) return;
  const form = await parseForm(bytes, context.request.headers.get("content-type"), fileLimit);
  if (bytes.length > MIB) await Bun.sleep(0);
  context.body = form;
  await claimWrite(context.request, () => hashForm(form));
}

/** The bytes, for a guard that must check them before anybody parses them. */
export async function receiveBody(request: Request) {
  const { route = "", server, admit } = exchangeOf(request);
  if (LARGE.has(route)) server?.timeout(request, LARGE_BODY_IDLE_SECONDS);
  const bytes = await whileArriving(request, () => readBytes(request, LARGE.get(route) ?? SMALL.get(route) ?? MIB));
  admit?.(); // once more: meanwhile others came
  return bytes;
}

export async function parseBody(context: Context, bytes: Uint8Array) {
  refuseCoding(context.request);
  if (bytes.length > 0) context.body = await parseJson(bytes, context.request.headers.get("content-type"));
}

/** Claims the request's Idempotency-Key, if it has one. */
export const claimBody = (request: Request, bytes: Uint8Array) => claimWrite(request, () => sha256(bytes));

/** RFC 9110, 15.5.16: the answer says which codings a body may have. */
function refuseCoding({ headers }: Request) {
  const coding = headers.get("content-encoding")?.trim() || "identity";
  if (coding.toLowerCase() !== "identity")
    throw new Refusal(415, "The body must not be compressed: send it without content-encoding.", { "accept-encoding": "identity" });
}

async function readBytes(request: Request, limit: number) {
  const tooLarge = () => new Refusal(413, `The body is larger than ${limit < MIB ? `${limit / 1024} KiB` : `${limit / MIB} MiB`}.`, { connection: "close" });
  if (Number(request.headers.get("content-length") ?? 0) > limit) throw tooLarge();
  try {
    if (request.headers.has("content-length")) return new Uint8Array(await request.arrayBuffer());
    const parts: Uint8Array[] = [];
    let size = 0;
    for await (const part of request.body ?? []) {
      size += part.length;
      if (size > limit) throw tooLarge();
      parts.push(part);
    }
    return Buffer.concat(parts);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    throw new Refusal(400, "The connection ended before the body did."); // only the log has it
  }
}

async function parseJson(bytes: Uint8Array, contentType: string | null): Promise<unknown> {
  if (!/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType ?? ""))
    throw new Refusal(415, "The body must be JSON: send content-type: application/json.");
  const value = parse(bytes);
  await refuseDoubledKeys(bytes, tame(value, LEVELS));
  // Where a field has a default, Elysia assigns the body to the defaults, whatever kind it is of.
  if (value === null || typeof value !== "object" || Array.isArray(value)) throw new Refusal(400, "The body must be an object.");
  if (Object.hasOwn(value, "__proto__")) throw new Refusal(400, "body.__proto__ is not a known field."); // it would become the prototype
  return value;
}

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch {
    throw new Refusal(400, "The body is not valid JSON in UTF-8.");
  }
}

/** Rejects JSON nested too deep; shadows own `toString` fields, which crash Elysia's error path. Returns how many keys there are. */
function tame(value: unknown, levels: number): number {
  if (value === null || typeof value !== "object") return 0;
  if (levels === 0) throw new Refusal(400, `The body is nested deeper than ${LEVELS} levels.`);
  let keys = 0;
  if (Array.isArray(value)) {
    for (const each of value) keys += tame(each, levels - 1); // for…in would take seconds
    return keys;
  }
  if (Object.hasOwn(value, "toString")) Object.defineProperty(value, Symbol.toPrimitive, QUOTED);
  for (const key in value) keys += 1 + tame((value as Record<string, unknown>)[key], levels - 1);
  return keys;
}
