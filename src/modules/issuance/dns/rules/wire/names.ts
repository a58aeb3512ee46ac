const MAX_LABEL = 63;
const MAX_NAME = 255;
/** Pointers that one name may follow, so that a message whose names are chains of pointers costs no more than its size. */
const MAX_POINTERS = 16;
const LABEL = /^[a-z0-9_-]{1,63}$/;

/** Returns a name without its last dot and in lower case, or undefined where it is none that a record of ours can have. The root is "". */
export function readDnsName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  const isName = name === "" || (name.length < MAX_NAME - 1 && name.split(".").every((label) => LABEL.test(label)));
  return isName ? name : undefined;
}

/** A name on the wire. Throws a RangeError where it is none. */
export function encodeName(text: string): Buffer {
  const name = readDnsName(text);
  if (name === undefined) throw new RangeError("no name that can be asked for");
  const labels = name === "" ? [] : name.split(".");
  return Buffer.concat([...labels.map((label) => Buffer.from([label.length, ...Buffer.from(label)])), Buffer.from([0])]);
}

/**
 * Returns the name at `start` of a message, and its end. Throws a RangeError where it leaves the message, is too long, or has a
 * pointer that does not lead back before its own piece.
 */
export function decodeName(message: Buffer, start: number): { name: string; end: number } {
  const labels: string[] = [];
  let offset = start;
  let piece = start;
  let end: number | undefined;
  let size = 1;
  let pointers = 0;
  for (;;) {
    const length = message.readUInt8(offset);
    if (length === 0) return { name: labels.join("."), end: end ?? offset + 1 };
    if (length >= 0xc0) {
      const target = message.readUInt16BE(offset) & 0x3fff;
      if (target >= piece || ++pointers > MAX_POINTERS) throw new RangeError("a name whose pointers lead nowhere");
      end ??= offset + 2;
      offset = target;
      piece = target;
    } else {
      const next = offset + 1 + length;
      size += 1 + length;
      if (length > MAX_LABEL || size > MAX_NAME || next > message.length) throw new RangeError("a name that is too long");
      labels.push(toText(message.subarray(offset + 1, next)));
      offset = next;
    }
  }
}

/** Bytes that no host name has are written as numbers, so that no dot within a label looks like one between two. */
const toText = (label: Buffer) =>
  label
    .toString("latin1")
    .toLowerCase()
    .replace(/[^a-z0-9_-]/g, (character) => `\\${String(character.charCodeAt(0)).padStart(3, "0")}`);
