import type { Sql } from "#db/connect";
import type { Partition, Sequence, Table } from "./format";

/**
 * Returns the tables of the schema with their stored columns, each after those that it refers to; what inherits is read and
 * restored with its parent.
 */
export async function readTables(sql: Sql): Promise<Table[]> {
  const tables = await sql<{ name: string; columns: string[]; parents: string[] }[]>`
    select relname as name,
      (select json_agg(attname order by attnum) from pg_attribute where attrelid = pg_class.oid and attnum > 0 and not attisdropped and attgenerated = '') as columns,
      (select coalesce(json_agg(distinct confrelid::regclass::text), '[]') from pg_constraint where conrelid = pg_class.oid and contype = 'f') as parents
    from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not exists (select from pg_inherits where inhrelid = pg_class.oid)
    order by relname`;
  const ordered: Table[] = [];
  for (let left = [...tables]; left.length > 0; ) {
    const isFree = (name: string) => !left.some((each) => each.name === name);
    const next = left.filter(({ name, parents }) => parents.every((each) => each === name || isFree(each)));
    if (next.length === 0) throw new Error("Tables refer to each other in a circle.");
    ordered.push(...next.map(({ name, columns }) => ({ name, columns })));
    left = left.filter((each) => !next.includes(each));
  }
  return ordered;
}

/** Returns the tables, other than partitions, that inherit: their rows are among those of their parent. */
export async function readHeirs(sql: Sql): Promise<string[]> {
  const heirs = await sql<{ name: string }[]>`
    select relname as name from pg_class where relnamespace = 'public'::regnamespace and not relispartition and exists (select from pg_inherits where inhrelid = pg_class.oid)`;
  return heirs.map(({ name }) => name);
}

export async function readPartitions(sql: Sql): Promise<Partition[]> {
  return [
    ...(await sql<Partition[]>`
      select relname as name, inhparent::regclass::text as parent, pg_get_expr(relpartbound, pg_class.oid) as bound
      from pg_inherits join pg_class on pg_class.oid = inhrelid where relnamespace = 'public'::regnamespace and relispartition order by relname`),
  ];
}

export async function readSequences(sql: Sql): Promise<Sequence[]> {
  const names = await sql<{ name: string }[]>`select sequencename as name from pg_sequences where schemaname = 'public' order by 1`;
  return Promise.all(
    names.map(async ({ name }) => {
      const [row] = await sql.unsafe(`select last_value::text as value, is_called as called from "${name}"`);
      return { name, value: String(row?.value), isCalled: row?.called === true };
    }),
  );
}

/** Returns the name as a quoted SQL identifier: names that come from a file are not trusted. */
export const quote = (name: string) => `"${name.replaceAll('"', '""')}"`;
