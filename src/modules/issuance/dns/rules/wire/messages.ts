import ipaddr from "ipaddr.js";
import { decodeName, encodeName } from "./names";

export const TYPE = { A: 1, NS: 2, CNAME: 5, SOA: 6, TXT: 16, AAAA: 28, TSIG: 250 } as const;
export const CLASS = { IN: 1, NONE: 254, ANY: 255 } as const;
export const OPCODE = { QUERY: 0, UPDATE: 5 } as const;
export type RecordType = keyof typeof TYPE;

type Question = { name: string; type: number };
export type NewRecord = { name: string; type: number; class: number; ttl: number; data: Uint8Array };
type NewMessage = { id: number; opcode?: number; isRecursive?: boolean; question: Question; updates?: NewRecord[] };

/** `value` is the text of what we read: an address, a name, the TXT strings joined. `start` is where the record begins in its message. */
export type DnsRecord = Omit<NewRecord, "data"> & { data: Buffer; value: string | undefined; start: number };
export type Message = {
  id: number;
  isAnswer: boolean;
  isAuthoritative: boolean;
  isTruncated: boolean;
  code: number;
  question: Question | undefined;
  answers: DnsRecord[];
  authorities: DnsRecord[];
  additionals: DnsRecord[];
};

export const HEADER_SIZE = 12;
/** More than any answer of ours needs: one that says it has more is not read. */
const MAX_RECORDS = 500;

/** A message of one question; of an UPDATE, the question is the zone. */
export function encodeMessage({ id, opcode = OPCODE.QUERY, isRecursive = false, question, updates = [] }: NewMessage): Buffer {
  const header = numbers([2, id], [2, (opcode << 11) | (isRecursive ? 0x0100 : 0)], [2, 1], [2, 0], [2, updates.length], [2, 0]);
  return Buffer.concat([header, encodeName(question.name), numbers([2, question.type], [2, CLASS.IN]), ...updates.map(encodeRecord)]);
}

export const encodeRecord = ({ name, type, class: kind, ttl, data }: NewRecord) =>
  Buffer.concat([encodeName(name), numbers([2, type], [2, kind], [4, ttl], [2, data.length]), data]);

/** Big-endian numbers, each with its size in bytes. */
export function numbers(...parts: [size: number, value: number][]) {
  const buffer = Buffer.alloc(parts.reduce((sum, [size]) => sum + size, 0));
  let offset = 0;
  for (const [size, value] of parts) offset = buffer.writeUIntBE(value, offset, size);
  return buffer;
}

/** The data of a TXT record of one text of at most 255 bytes. */
export const encodeText = (text: string) => Buffer.from([Buffer.byteLength(text), ...Buffer.from(text)]);

/** Returns what a message says, or undefined where it is none. Bounded by the message's size, whatever it says of itself. */
export function decodeMessage(bytes: Buffer): Message | undefined {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof RangeError) return;
    throw error;
  }
}

function decode(bytes: Buffer): Message {
  const flags = bytes.readUInt16BE(2);
  const [questions = 0, ...counts] = [4, 6, 8, 10].map((at) => bytes.readUInt16BE(at));
  if (questions > 1 || counts.reduce((sum, count) => sum + count, 0) > MAX_RECORDS) throw new RangeError("too many records");
  let offset = HEADER_SIZE;

  function readQuestion(): Question {
    const { name, end } = decodeName(bytes, offset);
    offset = end + 4;
    return { name, type: bytes.readUInt16BE(end) };
  }
  function readRecord(): DnsRecord {
    const { name, end } = decodeName(bytes, offset);
    const [type, size, from] = [bytes.readUInt16BE(end), bytes.readUInt16BE(end + 8), end + 10];
    if (from + size > bytes.length) throw new RangeError("a record that is not whole");
    const record = { name, type, class: bytes.readUInt16BE(end + 2), ttl: bytes.readUInt32BE(end + 4), data: bytes.subarray(from, from + size) };
    const read = { ...record, start: offset, value: VALUES[type]?.(record.data, bytes, from) };
    offset = from + size;
    return read;
  }

  const question = questions === 1 ? readQuestion() : undefined;
  const [answers = [], authorities = [], additionals = []] = counts.map((count) => Array.from({ length: count }, readRecord));
  return {
    id: bytes.readUInt16BE(0),
    isAnswer: (flags & 0x8000) !== 0,
    isAuthoritative: (flags & 0x0400) !== 0,
    isTruncated: (flags & 0x0200) !== 0,
    code: flags & 0x000f,
    question,
    answers,
    authorities,
    additionals,
  };
}

const readTarget = (_: Buffer, message: Buffer, from: number) => decodeName(message, from).name;

const VALUES: Record<number, (data: Buffer, message: Buffer, from: number) => string> = {
  [TYPE.A]: (data) => readAddress(data, 4),
  [TYPE.AAAA]: (data) => readAddress(data, 16),
  [TYPE.NS]: readTarget,
  [TYPE.CNAME]: readTarget,
  [TYPE.TXT]: readText,
};

function readAddress(data: Buffer, size: number) {
  if (data.length !== size) throw new RangeError("no address");
  return ipaddr.fromByteArray([...data]).toString();
}

function readText(data: Buffer) {
  const texts: string[] = [];
  for (let offset = 0; offset < data.length; offset += 1 + data.readUInt8(offset)) {
    const end = offset + 1 + data.readUInt8(offset);
    if (end > data.length) throw new RangeError("a text that is not whole");
    texts.push(data.toString("latin1", offset + 1, end));
  }
  return texts.join("");
}
