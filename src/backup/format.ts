import { HEADER_LENGTH } from "#crypto/keyring";

/** The beginning of every file, whatever its version. */
const MAGIC = Buffer.from("CERTITUDE BACKUP\n");
/** A frame is its kind, the length of what follows (32 bits) and that. */
const HEAD = 5;
const DIGEST = 32;
/** A stamp of the checksum: only a holder of SECRETS_KEY makes it. Files of version 1 end without one. */
const PROOF = HEADER_LENGTH + 32;
const MAX_FRAME = 512 * 1024 * 1024;
const READ_SIZE = 1024 * 1024;

export const VERSION = 2;
/** The last version without a proof. */
export const UNPROVEN_VERSION = 1;

/**
 * Kinds of frames, in the order of a file: header, then for each table its name and rows, for each object its name, bytes and
 * end, at last the totals.
 */
export type Kind = "H" | "T" | "R" | "O" | "D" | "E" | "Z";
export type Frame = { kind: Kind; payload: Buffer };

export type Table = { name: string; columns: string[] };
export type Partition = { name: string; parent: string; bound: string };
export type Header = { version: number; madeAt: string; release: string; migrations: number[]; tables: Table[]; partitions: Partition[] };
export type Sequence = { name: string; value: string; isCalled: boolean };
export type Totals = { rows: Record<string, number>; objects: number; bytes: number; missing: string[]; sequences: Sequence[] };

/** A sentence about a file that is no whole backup. */
export class BackupError extends Error {}

export function findTable(tables: Table[], name: string) {
  const table = tables.find((each) => each.name === name);
  if (!table) throw new BackupError(`It is damaged: its header does not name the table ${name}.`);
  return table;
}

/**
 * Hands the bytes of a file to `write`, in pieces of at least a mebibyte; `end` adds the checksum over all of them, and what
 * proves that.
 */
export function createEncoder(write: (bytes: Buffer) => Promise<unknown>) {
  const hasher = new Bun.CryptoHasher("sha256");
  let pending: Buffer[] = [];
  let size = 0;

  async function flush() {
    const bytes = Buffer.concat(pending);
    pending = [];
    size = 0;
    hasher.update(bytes);
    await write(bytes);
  }

  async function add(bytes: Buffer) {
    pending.push(bytes);
    size += bytes.length;
    if (size >= READ_SIZE) await flush();
  }

  async function frame(kind: Kind, payload: Buffer) {
    const head = Buffer.alloc(HEAD);
    head.write(kind, "latin1");
    head.writeUInt32BE(payload.length, 1);
    await add(head);
    await add(payload);
  }

  return {
    start: () => add(MAGIC),
    frame,
    json: (kind: Kind, value: unknown) => frame(kind, Buffer.from(JSON.stringify(value))),
    async end(prove: (checksum: string) => Buffer) {
      await flush();
      const checksum = hasher.digest() as Buffer;
      await write(checksum);
      await write(prove(checksum.toString("hex")));
    },
  };
}

/** The checksum at the end of a file, and what proves that a holder of SECRETS_KEY wrote it: undefined where a release before did. */
export type End = { checksum: string; proof: Buffer | undefined };

/** The facts of a backup that its stamp covers. */
export const backupFacts = (checksum: string) => ["backup", checksum] as const;

/** Reads the frames of a file, and at its end the checksum, which `ended` gets. Throws a BackupError for what is no whole backup. */
export async function* readFrames(path: string, ended: (end: End) => void = () => {}): AsyncGenerator<Frame> {
  const file = Bun.file(path);
  const take = createReader(file.stream() as unknown as AsyncIterable<Uint8Array>);
  const hasher = new Bun.CryptoHasher("sha256");
  const magic = await take(MAGIC.length);
  if (!magic.equals(MAGIC)) throw new BackupError("It is not a backup of certitude.");
  hasher.update(magic);
  let kind: Kind | undefined;
  while (kind !== "Z") {
    const head = await take(HEAD);
    const length = head.readUInt32BE(1);
    kind = head.toString("latin1", 0, 1) as Kind;
    if (!"HTRODEZ".includes(kind) || length > MAX_FRAME) throw new BackupError("It is damaged.");
    const payload = await take(length);
    hasher.update(head).update(payload);
    yield { kind, payload };
  }
  const checksum = await take(DIGEST);
  if (!checksum.equals(hasher.digest() as Buffer)) throw new BackupError("It is damaged: its checksum is another.");
  const proof = await take(PROOF, true);
  if (proof.length > 0 && proof.length < PROOF) throw new BackupError("It is truncated.");
  if ((await take(1, true)).length > 0) throw new BackupError("It is damaged: something follows its end.");
  ended({ checksum: checksum.toString("hex"), proof: proof.length > 0 ? proof : undefined });
}

/** Returns what takes the next `length` bytes of a stream. */
function createReader(stream: AsyncIterable<Uint8Array>) {
  const iterator = stream[Symbol.asyncIterator]();
  let parts: Uint8Array[] = [];
  let size = 0;
  return async function take(length: number, mayEnd = false): Promise<Buffer> {
    while (size < length) {
      const { value, done } = await iterator.next();
      if (done && mayEnd) break;
      if (done) throw new BackupError("It is truncated.");
      parts.push(value);
      size += value.length;
    }
    const all = parts.length === 1 && parts[0] ? Buffer.from(parts[0].buffer, parts[0].byteOffset, parts[0].length) : Buffer.concat(parts);
    parts = [all.subarray(length)];
    size = Math.max(0, size - length);
    return all.subarray(0, length);
  };
}
