import { type Keyring, keyIdOf } from "#crypto/keyring";
import { createStamps } from "#crypto/stamps";
import { contextOf, SEALED_COLUMNS } from "#db/sealed-columns";
import { BackupError, backupFacts, type End, findTable, type Header, readFrames, type Table, type Totals, UNPROVEN_VERSION, VERSION } from "./format";
import { parseRecord } from "./record";

/** `isProven`: a holder of SECRETS_KEY wrote it, and none else changed it. */
export type Verified = { header: Header; totals: Totals; keyIds: string[]; checksum: string; isProven: boolean };
type TableRow = Record<string, string | null>;

const CHECKS = { table: "secret_keys", column: "check_value", purpose: "secret-key", boundTo: ["key_id"] };
const SEALED = [...SEALED_COLUMNS, CHECKS];
const SHOWN = new Set(["documents", ...SEALED.map(({ table }) => table)]);

const NO_PROOF =
  "Nothing proves that a server wrote it as it is: an earlier release made it, or who does not have SECRETS_KEY changed it. If only you could write to where it lay, add --without-proof, and look at each ORG_ADMIN, API token, agent and platform admin before you let a server start on it.";

/**
 * Reads a file to its end: proof, checksums, counts, objects, and a sealed value of each key. Throws a BackupError, a sentence,
 * for a fault or a missing proof, unless `needsProof` is false.
 */
export async function verifyBackup(path: string, keyring: Keyring, { needsProof = true } = {}): Promise<Verified> {
  const { header, end } = await readWhole(path);
  checkProof(header, end, keyring, needsProof);
  const keys = createKeyProof(keyring);
  const objects = createObjectCheck();
  const tables = createRowCheck(header, (table, row) => {
    keys.see(table, row);
    if (table === "documents") objects.expect(row);
  });
  let totals: Totals | undefined;
  for await (const { kind, payload } of readFrames(path)) {
    tables.see(kind, payload);
    objects.see(kind, payload);
    if (kind === "Z") totals = JSON.parse(payload.toString()) as Totals;
  }
  if (!totals) throw new BackupError("It is truncated.");
  tables.end(totals);
  objects.end(totals);
  return { header, totals, keyIds: keys.end(), checksum: end.checksum, isProven: end.proof !== undefined };
}

/** Counts the rows, and shows those of the tables that there is something to check in. */
function createRowCheck({ tables }: Header, show: (table: string, row: TableRow) => void) {
  const counts: Record<string, number> = {};
  let table: Table = { name: "", columns: [] };

  function see(kind: string, payload: Buffer) {
    if (kind === "T") table = findTable(tables, JSON.parse(payload.toString()).name);
    if (kind !== "R") return;
    const records: string[] = JSON.parse(payload.toString());
    counts[table.name] = (counts[table.name] ?? 0) + records.length;
    if (SHOWN.has(table.name)) for (const record of records) show(table.name, toRow(table.columns, record));
  }

  function end({ rows }: Totals) {
    for (const [name, count] of Object.entries(rows))
      if (count !== (counts[name] ?? 0)) throw new BackupError(`It is damaged: it should hold ${count} rows of ${name}, and holds ${counts[name] ?? 0}.`);
  }

  return { see, end };
}

/** Reads all of it for its checksum alone, so that what is read later has the form that was written. */
async function readWhole(path: string) {
  const ends: End[] = [];
  let header: Header | undefined;
  for await (const { kind, payload } of readFrames(path, (end) => ends.push(end))) header ??= kind === "H" ? readHeader(payload) : undefined;
  const [end] = ends;
  if (!header || !end) throw new BackupError("It is damaged: it has no header.");
  return { header, end };
}

function checkProof({ version }: Header, { checksum, proof }: End, keyring: Keyring, needsProof: boolean) {
  if (!proof) {
    if (version !== UNPROVEN_VERSION) throw new BackupError("It is truncated.");
    if (needsProof) throw new BackupError(NO_PROOF);
    return;
  }
  const keyId = keyIdOf(proof) ?? "";
  if (!keyring.ids().includes(keyId)) throw new BackupError(closedBy([keyId], keyring));
  if (!createStamps(keyring).isStamped(proof, backupFacts(checksum)))
    throw new BackupError("It was changed by who does not have SECRETS_KEY: its proof is of another content. Nothing of it is restored.");
}

const closedBy = (keyIds: string[], keyring: Keyring) =>
  `SECRETS_KEY does not open its secrets: ${keyIds.length > 0 ? `the key ${keyIds.join(", ")} sealed them, and ` : ""}SECRETS_KEY lists ${keyring.ids().join(", ") || "none"}.`;

function readHeader(payload: Buffer): Header {
  let header: Partial<Header> = {};
  try {
    header = JSON.parse(payload.toString());
  } catch {} // damaged
  if (!Number.isInteger(header.version)) throw new BackupError("It is damaged: its header cannot be read.");
  if (header.version !== VERSION && header.version !== UNPROVEN_VERSION)
    throw new BackupError(`Its format is version ${header.version}, and this certitude reads the versions ${UNPROVEN_VERSION} and ${VERSION} alone.`);
  return header as Header;
}

const toRow = (columns: string[], record: string): TableRow => {
  const fields = parseRecord(record);
  return Object.fromEntries(columns.map((name, index) => [name, fields[index] ?? null]));
};

/** Opens one value of each key that the database listed as in use. */
function createKeyProof(keyring: Keyring) {
  const listed = new Set<string>();
  const opened = new Map<string, boolean>();

  function see(table: string, row: TableRow) {
    if (table === CHECKS.table && row.key_id) listed.add(row.key_id);
    for (const column of SEALED.filter((each) => each.table === table)) {
      const text = row[column.column];
      if (!text) continue;
      const value = Buffer.from(text.slice(2), "hex"); // \x…
      const id = `${column.column} ${keyIdOf(value) ?? ""}`;
      if (opened.get(id) !== true) opened.set(id, keyring.tryOpen(value, contextOf(column, row)) !== undefined);
    }
  }

  function end() {
    const isClosed = (id: string) => [...opened].some(([name, isOpen]) => name.endsWith(` ${id}`) && !isOpen);
    const closed = [...listed].filter(isClosed);
    const hasNone = listed.size === 0 && opened.size > 0 && ![...opened.values()].includes(true);
    if (closed.length > 0 || hasNone) throw new BackupError(closedBy(closed, keyring));
    return [...listed];
  }

  return { see, end };
}

/** Holds the objects against the documents that they belong to. */
function createObjectCheck() {
  const expected = new Map<string, string | null>();
  let key = "";
  let hasher = new Bun.CryptoHasher("sha256");

  function see(kind: string, payload: Buffer) {
    if (kind === "O") {
      key = JSON.parse(payload.toString()).key;
      hasher = new Bun.CryptoHasher("sha256");
    }
    if (kind === "D") hasher.update(payload);
    if (kind !== "E") return;
    const digest = hasher.digest("hex");
    if (JSON.parse(payload.toString()).sha256 !== digest || expected.get(key) !== digest)
      throw new BackupError(`The object ${key} is not what its document says: its SHA-256 is another.`);
    expected.delete(key);
  }

  function end({ missing }: Totals) {
    const lost = [...expected.keys()].filter((each) => !missing.includes(each));
    if (lost.length > 0) throw new BackupError(`It is damaged: it lacks the objects ${lost.join(", ")}.`);
  }

  return { expect: (row: TableRow) => void expected.set(row.object_key ?? "", row.sha256 ?? null), see, end };
}
