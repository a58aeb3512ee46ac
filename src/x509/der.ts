/** A DER value: its tag byte, its content, and the bytes of both with the length between them. */
export type Der = { tag: number; content: Uint8Array; raw: Uint8Array };

export class DerError extends Error {}

/** The tag byte of the context-specific, constructed element `[number]`. */
export const context = (number: number) => 0xa0 | number;

export const TAG = {
  boolean: 1,
  integer: 2,
  bitString: 3,
  octetString: 4,
  oid: 6,
  utf8: 12,
  sequence: 0x30,
  set: 0x31,
  utcTime: 23,
  generalizedTime: 24,
} as const;

/** The elements that follow one another in `bytes`, without a gap or a rest. */
function readAll(bytes: Uint8Array): Der[] {
  const elements: Der[] = [];
  for (let at = 0; at < bytes.length; ) {
    const element = readAt(bytes, at);
    elements.push(element);
    at += element.raw.length;
  }
  return elements;
}

/** The one element that `bytes` is; anything after it is an error. */
export function readOne(bytes: Uint8Array): Der {
  const element = readAt(bytes, 0);
  if (element.raw.length !== bytes.length) throw new DerError(`${bytes.length - element.raw.length} bytes follow the end of the certificate`);
  return element;
}

function readAt(bytes: Uint8Array, start: number): Der {
  const tag = byteAt(bytes, start);
  if ((tag & 0x1f) === 0x1f) throw new DerError("a tag number over 30");
  const first = byteAt(bytes, start + 1);
  let length = first;
  let head = 2;
  if (first >= 0x80) {
    const count = first & 0x7f;
    if (count === 0 || count > 4) throw new DerError("a length of indefinite or unheard-of form");
    length = 0;
    for (let index = 0; index < count; index++) length = length * 256 + byteAt(bytes, start + 2 + index);
    head += count;
  }
  const end = start + head + length;
  if (end > bytes.length) throw new DerError("it ends too early");
  return { tag, content: bytes.subarray(start + head, end), raw: bytes.subarray(start, end) };
}

function byteAt(bytes: Uint8Array, index: number) {
  const byte = bytes[index];
  if (byte === undefined) throw new DerError("it ends too early");
  return byte;
}

/** The elements inside `element`, which must have the given tag. */
export function children(element: Der | undefined, tag: number): Der[] {
  return readAll(contentOf(element, tag));
}

export function contentOf(element: Der | undefined, tag: number) {
  if (element?.tag !== tag) throw new DerError(`tag ${tag} expected where ${element ? `tag ${element.tag}` : "nothing"} stands`);
  return element.content;
}

export function readOid(element: Der | undefined) {
  const arcs: number[] = [];
  let arc = 0;
  for (const byte of contentOf(element, TAG.oid)) {
    arc = arc * 128 + (byte & 0x7f);
    if (byte < 0x80) {
      arcs.push(arc);
      arc = 0;
    }
  }
  const [first = 0, ...rest] = arcs;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...rest].join(".");
}

/** A two's-complement integer in lower-case hexadecimal, without leading zeros: "-3f" is minus 63. */
export function readInteger(element: Der | undefined) {
  const content = contentOf(element, TAG.integer);
  const unsigned = BigInt(`0x${Buffer.from(content).toString("hex") || "0"}`);
  const negative = (content[0] ?? 0) >= 0x80;
  return (negative ? unsigned - (1n << BigInt(content.length * 8)) : unsigned).toString(16);
}

/** A UTCTime (1950 to 2049) or a GeneralizedTime, as X.509 allows them: to the second, in UTC. */
export function readTime(element: Der | undefined) {
  const text = Buffer.from(element?.content ?? []).toString("latin1");
  const utc = element?.tag === TAG.utcTime;
  if (!utc && element?.tag !== TAG.generalizedTime) throw new DerError("a date that is neither UTCTime nor GeneralizedTime");
  const digits = utc ? `${Number(text.slice(0, 2)) < 50 ? 20 : 19}${text}` : text;
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(digits) ?? [];
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`;
  const time = new Date(iso);
  // A day that does not exist, such as 30 February, rolls over.
  if (year === undefined || Number.isNaN(time.getTime()) || time.toISOString() !== iso || year === "0000")
    throw new DerError(`a date that does not exist: "${text.slice(0, 20)}"`);
  return time;
}
