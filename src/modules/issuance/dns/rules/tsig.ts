import { createHmac, timingSafeEqual } from "node:crypto";
import { ALGORITHMS } from "./algorithms";
import { codeFault, NOERROR } from "./codes";
import { DnsFault } from "./fault";
import { CLASS, type DnsRecord, encodeRecord, type Message, numbers, TYPE } from "./wire/messages";
import { decodeName, encodeName } from "./wire/names";

export type TsigKey = { name: string; algorithm: keyof typeof ALGORITHMS; secret: Buffer };

type Tsig = { algorithm: string; time: number; fudge: number; mac: Buffer; originalId: number; error: number; other: Buffer };

/** Seconds that the clocks may differ. */
const FUDGE = 300;
/** The last second of the year 9999: the wire has room for times that no date has. */
const LAST = 253_402_300_799;
const BADSIG = 16;
const BADKEY = 17;
const BADTIME = 18;
const BADTRUNC = 22;

/** Returns the message with a signature of now, and that signature, which the answer's is bound to. */
export function signMessage(message: Buffer, key: TsigKey, now: Date): { bytes: Buffer; mac: Buffer } {
  const time = secondsOf(now);
  const unsigned = {
    algorithm: key.algorithm,
    time,
    fudge: FUDGE,
    mac: Buffer.alloc(0),
    originalId: message.readUInt16BE(0),
    error: 0,
    other: Buffer.alloc(0),
  };
  const mac = digest(key, [message, variables(key, unsigned)]);
  const bytes = Buffer.concat([message, encodeRecord({ name: key.name, type: TYPE.TSIG, class: CLASS.ANY, ttl: 0, data: encodeTsig({ ...unsigned, mac }) })]);
  bytes.writeUInt16BE(message.readUInt16BE(10) + 1, 10);
  return { bytes, mac };
}

type Signed = { bytes: Buffer; message: Message };

/** Returns why the answer to a signed request is not to be believed, or what its signature's error says; undefined where all is well. */
export function answerFault({ bytes, message }: Signed, key: TsigKey, requestMac: Buffer, now: Date, server: string): DnsFault | undefined {
  const record = message.additionals.at(-1);
  const tsig = record && readTsig(record);
  if (!record || !tsig) return message.code === NOERROR ? unsignedFault(server) : codeFault(server, message.code, "to take a signed request");
  const error = describeError(tsig.error, key, server);
  // Who does not know the key, or does not get the same signature, cannot sign the answer.
  if (tsig.error === BADKEY || tsig.error === BADSIG) return error;
  if (record.name !== key.name || tsig.algorithm !== key.algorithm) return new DnsFault(`${server} signed its answer with another key than ${key.name}.`);
  const signed = Buffer.from(bytes.subarray(0, record.start));
  signed.writeUInt16BE(tsig.originalId, 0);
  signed.writeUInt16BE(message.additionals.length - 1, 10);
  const expected = digest(key, [numbers([2, requestMac.length]), requestMac, signed, variables(key, tsig)]);
  if (tsig.mac.length !== expected.length || !timingSafeEqual(tsig.mac, expected)) {
    return new DnsFault(`${server} signed its answer wrongly, so it is not believed.`);
  }
  return clockFault(tsig, now, server) ?? error;
}

const unsignedFault = (server: string) => new DnsFault(`${server} answered without a signature, so its answer is not believed.`);

function describeError(error: number, { name, algorithm }: TsigKey, server: string) {
  if (error === 0) return;
  if (error === BADKEY) return new DnsFault(`${server} knows no key ${name} with ${algorithm} (BADKEY).`, { isFinal: true });
  if (error === BADSIG) return new DnsFault(`${server} has another secret for the key ${name} (BADSIG).`, { isFinal: true });
  if (error === BADTRUNC) return new DnsFault(`${server} takes no signature of this length (BADTRUNC).`, { isFinal: true });
  return new DnsFault(`${server} refused the signature with the error ${error}.`);
}

/** The time of a server that finds ours too far off stands beside its own signature's. */
function clockFault({ error, time, fudge, other }: Tsig, now: Date, server: string) {
  const theirs = error === BADTIME && other.length === 6 ? other.readUIntBE(0, 6) : time;
  if (error !== BADTIME && Math.abs(secondsOf(now) - time) <= fudge) return;
  return new DnsFault(
    `The clocks differ: ${server} says ${new Date(Math.min(theirs, LAST) * 1_000).toISOString()}, this server ${now.toISOString()} (BADTIME).`,
  );
}

const secondsOf = (now: Date) => Math.floor(now.getTime() / 1_000);

function digest({ algorithm, secret }: TsigKey, parts: Buffer[]) {
  const hmac = createHmac(ALGORITHMS[algorithm], secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/** Returns the part of the signature's record that is signed with the message (RFC 8945, 4.3.3). */
const variables = ({ name }: TsigKey, { algorithm, time, fudge, error, other }: Omit<Tsig, "mac" | "originalId">) =>
  Buffer.concat([
    encodeName(name),
    numbers([2, CLASS.ANY], [4, 0]),
    encodeName(algorithm),
    numbers([6, time], [2, fudge], [2, error], [2, other.length]),
    other,
  ]);

const encodeTsig = ({ algorithm, time, fudge, mac, originalId, error, other }: Tsig) =>
  Buffer.concat([encodeName(algorithm), numbers([6, time], [2, fudge], [2, mac.length]), mac, numbers([2, originalId], [2, error], [2, other.length]), other]);

/** Undefined where a record is no signature, or not whole. */
function readTsig({ type, class: kind, ttl, data }: DnsRecord): Tsig | undefined {
  if (type !== TYPE.TSIG || kind !== CLASS.ANY || ttl !== 0) return;
  try {
    const { name, end } = decodeName(data, 0);
    const macEnd = end + 10 + data.readUInt16BE(end + 8);
    const [mac, other] = [data.subarray(end + 10, macEnd), data.subarray(macEnd + 6)];
    if (data.readUInt16BE(macEnd + 4) !== other.length) return;
    return {
      algorithm: name,
      time: data.readUIntBE(end, 6),
      fudge: data.readUInt16BE(end + 6),
      mac,
      originalId: data.readUInt16BE(macEnd),
      error: data.readUInt16BE(macEnd + 2),
      other,
    };
  } catch (error) {
    if (error instanceof RangeError) return;
    throw error;
  }
}
