import { HEADER_LENGTH, type Keyring } from "#crypto/keyring";
import type { Sql } from "./connect";
import { contextOf, SEALED_COLUMNS, type SealedColumn } from "./sealed-columns";

/** Rows read in one statement. */
const PAGE = 500;
/** The last pass finds nothing; what servers seal meanwhile with another key is found by the next one. */
const MAX_PASSES = 5;

export type Resealed = { table: string; resealed: number; unreadable: number };
type Report = (soFar: Resealed) => void;
/** Texts of the unique key and of what the value is bound to, and the value in hex unless the first key sealed it. */
type SealedRow = Record<string, string | null> & { sealed: string | null };

/**
 * Seals with the first key what another key sealed, page by page, and reports the total after each page. A killed run is just
 * run again.
 */
export async function resealAll(sql: Sql, keyring: Keyring, report: Report): Promise<Resealed[]> {
  const totals: Resealed[] = [];
  for (const column of SEALED_COLUMNS) totals.push(await resealColumn(sql, keyring, column, report));
  return totals;
}

async function resealColumn(sql: Sql, keyring: Keyring, column: SealedColumn, report: Report): Promise<Resealed> {
  const total = { table: column.table, resealed: 0, unreadable: 0 };
  for (let pass = 0, found = 1; found > 0 && pass < MAX_PASSES; pass++) {
    found = 0;
    total.unreadable = 0;
    for await (const rows of stalePages(sql, keyring, column)) {
      const outcomes = await Promise.all(rows.map((row) => resealRow(sql, keyring, column, row)));
      const count = (outcome: Awaited<ReturnType<typeof resealRow>>) => outcomes.filter((each) => each === outcome).length;
      total.resealed += count("resealed");
      total.unreadable += count("unreadable");
      found += count("resealed") + count("changed");
      if (rows.length > 0) report(total);
    }
  }
  return total;
}

/** Pages in the order of the unique key, of which those rows remain that another key than the first sealed. */
async function* stalePages(sql: Sql, keyring: Keyring, { table, column, uniqueKey, boundTo }: SealedColumn) {
  const key = uniqueKey.join(", ");
  const names = [...new Set([...uniqueKey, ...boundTo])].map((name) => `${name}::text`).join(", ");
  const stale = `case when substring(${column} from 1 for ${HEADER_LENGTH}) <> decode('${keyring.header().toString("hex")}', 'hex') then encode(${column}, 'hex') end`;
  let last: SealedRow | undefined;
  do {
    const values = uniqueKey.flatMap((name) => last?.[name] ?? []);
    const after = last ? `where (${key}) > (${values.map((_, index) => `$${index + 1}`).join(", ")})` : "";
    const rows = await sql.unsafe<SealedRow[]>(`select ${names}, ${stale} as sealed from ${table} ${after} order by ${key} limit ${PAGE}`, values);
    yield rows.filter(({ sealed }) => sealed !== null);
    last = rows.length === PAGE ? rows.at(-1) : undefined;
  } while (last);
}

/** Changes a value only while it is the one that was read. */
async function resealRow(sql: Sql, keyring: Keyring, column: SealedColumn, row: SealedRow) {
  const context = contextOf(column, row);
  const opened = keyring.tryOpen(Buffer.from(row.sealed ?? "", "hex"), context);
  if (!opened) return "unreadable";
  const where = column.uniqueKey.map((name, index) => `${name} = $${index + 3}`).join(" and ");
  const { count } = await sql.unsafe(
    `update ${column.table} set ${column.column} = decode($1, 'hex') where ${column.column} = decode($2, 'hex') and ${where}`,
    [keyring.seal(opened.secret, context).toString("hex"), row.sealed, ...column.uniqueKey.map((name) => row[name] ?? "")],
    { prepare: true },
  );
  return count === 1 ? "resealed" : "changed";
}
