import { failure } from "./failure";

/** Returns the text of a body of at most `max` bytes; a longer one is read no further, and fails. */
export async function boundedText(body: AsyncIterable<Uint8Array>, max: number) {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > max) throw failure("TOO_LARGE");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
