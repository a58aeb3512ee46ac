import { Refusal } from "./errors";

const MIB = 1024 * 1024;
/** Shadows a field named toString, on which Elysia crashes when it quotes a rejected value. */
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

/** Bytes of a file that are hashed at a time, so that others get their turn. */
const SLICE = 4 * MIB;

/** SHA-256 of what the fields say, however they were delimited: a client that sends a form again chooses another boundary. */
export async function hashForm(fields: object) {
  const hasher = new Bun.CryptoHasher("sha256");
  for (const [name, value] of Object.entries(fields)) {
    const isFile = value instanceof Blob;
    hasher.update(JSON.stringify([name, isFile ? [(value as File).name, value.type, value.size] : value]));
    for (let start = 0; isFile && start < value.size; start += SLICE) {
      hasher.update(await value.slice(start, start + SLICE).bytes());
      await Bun.sleep(0);
    }
  }
  return hasher.digest("hex");
}

async function parse(bytes: Uint8Array<ArrayBuffer>, contentType: string) {
  try {
    return await new Response(bytes, { headers: { "content-type": contentType } }).formData();
  } catch {
    throw new Refusal(400, "The body is not a well-formed form.");
  }
}
