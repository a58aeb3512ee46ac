import { existsSync, rmSync } from "node:fs";
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { version } from "../../package.json";
import { BackupError, backupFacts, createEncoder, type Table, type Totals, VERSION } from "./format";
import { quote, readPartitions, readSequences, readTables } from "./layout";

const ROWS = 200;
/** Rows between two lines of progress. */
const PROGRESS = 50_000;

type Report = (line: string) => void;
/** An object's bytes; undefined when there is none. */
export type Objects = (key: string) => Promise<Blob | undefined>;
type Encoder = ReturnType<typeof createEncoder>;

/**
 * Writes all rows, as one transaction sees them, and the documents' objects into a new file, in constant memory. It gets its
 * name when it is whole, and ends with a proof by SECRETS_KEY.
 */
export async function writeBackup(path: string, sql: Pool, stamps: Stamps, objects: Objects, report: Report): Promise<Totals> {
  if (existsSync(path)) throw new BackupError(`${path} exists already: a backup overwrites nothing.`);
  const draft = `${path}.${process.pid}.part`;
  const file = await open(draft, "wx", 0o600);
  try {
    const encoder = createEncoder((bytes) => file.writeFile(bytes));
    const totals = await sql.begin((tx) => writeContent(encoder, tx, objects, report), "isolation level repeatable read read only");
    await encoder.end((checksum) => stamps.of(backupFacts(checksum)));
    await file.sync();
    await file.close();
    if (existsSync(path)) throw new BackupError(`${path} exists already: a backup overwrites nothing.`);
    await rename(draft, path);
    await syncDirectory(dirname(path));
    return totals;
  } catch (error) {
    await file.close().catch(() => {}); // closed already
    rmSync(draft, { force: true });
    throw error;
  }
}

async function writeContent(encoder: Encoder, tx: Sql, objects: Objects, report: Report): Promise<Totals> {
  const [found] = await tx`select to_regclass('drizzle.__drizzle_migrations') is not null as "isOurs"`;
  if (!found?.isOurs) throw new BackupError("There is nothing to back up: the database has no tables of certitude. Is DATABASE_URL the right one?");
  const ledger = await tx<{ at: string }[]>`select created_at::text as at from drizzle.__drizzle_migrations order by created_at`;
  const tables = await readTables(tx);
  await encoder.start();
  const header = { version: VERSION, madeAt: new Date().toISOString(), release: version, migrations: ledger.map(({ at }) => Number(at)) };
  await encoder.json("H", { ...header, tables, partitions: await readPartitions(tx) });
  const rows: Totals["rows"] = {};
  for (const table of tables) rows[table.name] = await writeRows(encoder, tx, table, report);
  const stored = await writeObjects(encoder, tx, objects, report);
  const totals = { rows, ...stored, sequences: await readSequences(tx) };
  await encoder.json("Z", totals);
  return totals;
}

/** Each row as Postgres writes a record; it reads the same again. */
async function writeRows(encoder: Encoder, tx: Sql, { name, columns }: Table, report: Report) {
  await encoder.json("T", { name });
  let count = 0;
  for await (const rows of tx.unsafe<{ row: string }[]>(`select row(${columns.map(quote).join(", ")})::text as row from ${quote(name)}`).cursor(ROWS)) {
    await encoder.json(
      "R",
      rows.map(({ row }) => row),
    );
    if (Math.floor((count + rows.length) / PROGRESS) > Math.floor(count / PROGRESS)) report(`${name}: ${count + rows.length} rows`);
    count += rows.length;
  }
  if (count > 0) report(`${name}: ${count} rows`);
  return count;
}

async function writeObjects(encoder: Encoder, tx: Sql, objects: Objects, report: Report) {
  const total = { objects: 0, bytes: 0, missing: [] as string[] };
  for await (const rows of tx.unsafe<{ key: string }[]>("select object_key as key from documents").cursor(ROWS))
    for (const { key } of rows) {
      const size = await writeObject(encoder, key, await objects(key));
      if (size === undefined) total.missing.push(key);
      total.objects += Number(size !== undefined);
      total.bytes += size ?? 0;
    }
  report(`${total.objects} objects, ${total.bytes} bytes`);
  return total;
}

async function writeObject(encoder: Encoder, key: string, object: Blob | undefined) {
  if (!object) return;
  await encoder.json("O", { key, size: object.size });
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const part of object.stream() as unknown as AsyncIterable<Uint8Array>) {
    hasher.update(part);
    await encoder.frame("D", Buffer.from(part));
  }
  await encoder.json("E", { sha256: hasher.digest("hex") });
  return object.size;
}

async function syncDirectory(path: string) {
  const directory = await open(path, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
