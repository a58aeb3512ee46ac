import type { Pool, Sql } from "#db/connect";
import { migrateWithin } from "#db/migrate";
import type { ObjectStore } from "#storage/store";
import { BackupError, type End, findTable, type Partition, readFrames, type Sequence, type Table } from "./format";
import { quote, readHeirs, readTables } from "./layout";
import type { Verified } from "./verify";

/** The tables that a server fills by itself, before it has users. */
const OWN = ["secret_keys", "stamping", "stamping_levels"];
const BOUND = /^FOR VALUES FROM \('[\d :+.-]+'\) TO \('[\d :+.-]+'\)$/;

type Report = (line: string) => void;
type Services = { sql: Pool; store: ObjectStore; report: Report /** Runs in the same transaction, last. */; finish: (tx: Sql) => Promise<void> };

/** Loads a verified file into a database without rows: all of it, or nothing. The database then has this executable's schema. */
export async function restoreBackup(path: string, { header, totals, checksum }: Verified, { sql, store, report, finish }: Services) {
  const written: string[] = [];
  try {
    await sql.begin(async (tx) => {
      await migrateWithin(tx, header.migrations);
      const names = (await readTables(tx)).map(({ name }) => name);
      const heirs = await readHeirs(tx); // an earlier release wrote their rows twice
      await refuseRows(tx, names);
      await setTriggers(tx, names, "disable"); // what they wrote is in the file
      for (const partition of header.partitions) await makePartition(tx, partition);
      await loadFrames(path, { tables: header.tables, heirs, checksum }, tx, store, written, report);
      await compareCounts(tx, totals.rows, heirs);
      for (const sequence of totals.sequences) await setSequence(tx, sequence);
      await setTriggers(tx, names, "enable");
      await migrateWithin(tx);
      await tx.unsafe(`analyze ${names.map(quote).join(", ")}`); // a server that starts on it plans by what is there
      await finish(tx);
    });
  } catch (error) {
    for (const key of written) await store.remove(key);
    throw error;
  }
}

async function refuseRows(tx: Sql, names: string[]) {
  for (const name of names) {
    await tx.unsafe(`lock table ${quote(name)} in access exclusive mode`);
    if (OWN.includes(name)) await tx.unsafe(`delete from ${quote(name)}`);
    const [row] = await tx.unsafe(`select exists (select from ${quote(name)}) as filled`);
    if (row?.filled) throw new BackupError(`The database is not empty: there are rows in ${name}. A backup is restored into an empty one only.`);
  }
}

async function setTriggers(tx: Sql, names: string[], state: "enable" | "disable") {
  for (const name of names) await tx.unsafe(`alter table ${quote(name)} ${state} trigger user`);
}

async function makePartition(tx: Sql, { name, parent, bound }: Partition) {
  const [row] = await tx`select to_regclass(${`public.${quote(name)}`}) is not null as exists`;
  if (row?.exists) return;
  if (!BOUND.test(bound)) throw new BackupError(`It is damaged: the partition ${name} has no bounds.`);
  await tx.unsafe(`create table ${quote(name)} partition of ${quote(parent)} ${bound}`);
}

async function loadFrames(
  path: string,
  { tables, heirs, checksum }: { tables: Table[]; heirs: string[]; checksum: string },
  tx: Sql,
  store: ObjectStore,
  written: string[],
  report: Report,
) {
  const skip = async (_rows: string) => {};
  let load = skip;
  let object: { key: string; parts: Buffer[] } = { key: "", parts: [] };
  for await (const { kind, payload } of readFrames(path, (end) => refuseAnother(end, checksum))) {
    if (kind === "T") {
      const { name } = JSON.parse(payload.toString());
      load = heirs.includes(name) ? skip : await createLoader(tx, tables, name);
      report(name);
    }
    if (kind === "R") await load(payload.toString());
    if (kind === "O") object = { key: JSON.parse(payload.toString()).key, parts: [] };
    if (kind === "D") object.parts.push(Buffer.from(payload));
    if (kind === "E") await storeObject(store, object.key, Buffer.concat(object.parts), written);
  }
}

function refuseAnother(end: End, checksum: string) {
  if (end.checksum !== checksum) throw new BackupError("It was changed while it was read.");
}

async function storeObject(store: ObjectStore, key: string, bytes: Buffer, written: string[]) {
  if (!(await store.get(key))) written.push(key);
  await store.put(key, bytes);
}

/** Returns what inserts a JSON array of records. */
async function createLoader(tx: Sql, tables: Table[], table: string) {
  const names = findTable(tables, table).columns.map(quote);
  const type = quote(`restore_${table}`);
  // A type of these columns in this order, whatever the order in which migrations added them here.
  await tx.unsafe(`create temp table ${type} on commit drop as select ${names.join(", ")} from ${quote(table)} with no data`);
  const text = `insert into ${quote(table)} (${names.join(", ")}) select ${names.map((name) => `(row).${name}`).join(", ")}
    from (select record::pg_temp.${type} as row from json_array_elements_text($1::text::json) as record offset 0) as records`;
  return async (rows: string) => void (await tx.unsafe(text, [rows]));
}

async function compareCounts(tx: Sql, rows: Record<string, number>, heirs: string[]) {
  for (const [name, expected] of Object.entries(rows)) {
    if (heirs.includes(name)) continue;
    const [row] = await tx.unsafe(`select count(*)::text as count from ${quote(name)}`);
    if (Number(row?.count) !== expected) throw new BackupError(`${name} has ${row?.count} rows after loading, and should have ${expected}.`);
  }
}

const setSequence = (tx: Sql, { name, value, isCalled }: Sequence) => tx`select setval(${`public.${quote(name)}`}::regclass, ${value}::bigint, ${isCalled})`;
