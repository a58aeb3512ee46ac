import { Refusal } from "./errors";

const MIB = 1024 * 1024;
/** Elysia quotes what it refuses, and would stumble over a field named toString. */
const QUOTED = { value: () => "a form" };

/** The fields of a form, each named once; files stay Blobs. */
export async function parseForm(bytes: Uint8Array<ArrayBuffer>, contentType: string | null, limit: number) {
  if (!/^multipart\/form-data\s*;/i.test(contentType ?? "")) throw new Refusal(415, "The body must be a form: send content-type: multipart/form-data.");
  const fields = new Map<string, unknown>();
  for (const [name, value] of await parse(bytes, contentType ?? "")) {
    if (name === "__proto__") throw new Refusal(400, "In the body, __proto__ is not a known field.");
    if (fields.has(name)) throw new Refusal(400, `body.${name.slice(0, 100)} is there more than once.`);
    if (value instanceof Blob && value.size > limit) throw new Refusal(413, `The file is larger than ${limit / MIB} MiB.`);
    fields.set(name, value);
  }
  return Object.defineProperty(Object.fromEntries(fields), Symbol.toPrimitive, QUOTED);
}

async function parse(bytes: Uint8Array<ArrayBuffer>, contentType: string) {
  try {
    return await new Response(bytes, { headers: { "content-type": contentType } }).formData();
  } catch {
    throw new Refusal(400, "The body is not a well-formed form.");
  }
}
