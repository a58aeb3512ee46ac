import { expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { generateDrizzleJson, generateMigration } from "drizzle-kit/api";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

type Named = Record<string, { name: string }>;
type Table = {
  name: string;
  columns: Record<string, { name: string; type: string; notNull: boolean }>;
  foreignKeys: Named;
  compositePrimaryKeys: Named;
  indexes: Named;
};

const META = resolve(import.meta.dir, "../../drizzle/meta");
const TABLES = resolve(import.meta.dir, "../../src/db/tables");
/** Its partitions are nothing that drizzle can say. */
const UNDECLARED = "metric_samples";

const newest = readdirSync(META)
  .filter((name) => name.endsWith("_snapshot.json"))
  .toSorted()
  .at(-1);
const snapshot = await Bun.file(resolve(META, String(newest))).json();
const declared: Table[] = Object.values(snapshot.tables);

/** Of each table of the snapshot, what it names; a key of one column, which Postgres names …_pkey, stands with its column. Postgres cuts a name after 63 characters. */
const named = (of: (table: Table) => Named) =>
  declared.flatMap((table) => Object.values(of(table)).map(({ name }) => `${table.name} ${name.slice(0, 63)}`)).toSorted();
/** A type as Postgres writes it. */
const typeOf = (type: string) => type.replace("timestamp (", "timestamp(");

test("the newest snapshot is of the tables as they are declared: no migration is missing", async () => {
  const tables = await Promise.all(readdirSync(TABLES).map((name) => import(resolve(TABLES, name))));
  expect(await generateMigration(snapshot, generateDrizzleJson(Object.assign({}, ...tables), snapshot.id, undefined, "snake_case"))).toEqual([]);
});

test("the tables that migrations make are those of the snapshot, column by column", async () => {
  const columns = await world.sql<{ line: string }[]>`
    select concat_ws(' ', relname, attname, format_type(atttypid, atttypmod), attnotnull) as line
    from pg_class t join pg_attribute on attrelid = t.oid and attnum > 0 and not attisdropped
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> ${UNDECLARED}`;
  const wanted = declared.flatMap(({ name, columns }) =>
    Object.values(columns).map((column) => `${name} ${column.name} ${typeOf(column.type)} ${column.notNull ? "t" : "f"}`),
  );
  expect(columns.map(({ line }) => line).toSorted()).toEqual(wanted.toSorted());
});

test("the foreign and primary keys that migrations leave are those of the snapshot, and each of its indexes is there", async () => {
  const findKeys = async (type: string) => {
    const keys = await world.sql<{ line: string }[]>`
      select relname || ' ' || conname as line from pg_constraint join pg_class t on t.oid = conrelid
      where contype = ${type} and relnamespace = 'public'::regnamespace and not relispartition and relname <> ${UNDECLARED} and conname not like '%_pkey'`;
    return keys.map(({ line }) => line).toSorted();
  };
  expect(await findKeys("f")).toEqual(named(({ foreignKeys }) => foreignKeys));
  expect(await findKeys("p")).toEqual(named(({ compositePrimaryKeys }) => compositePrimaryKeys));
  const indexes = await world.sql<{ line: string }[]>`select tablename || ' ' || indexname as line from pg_indexes where schemaname = 'public'`;
  const made = new Set(indexes.map(({ line }) => line));
  expect(named(({ indexes }) => indexes).filter((each) => !made.has(each))).toEqual([]);
});
