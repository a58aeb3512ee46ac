import type { Pool, Sql } from "#db/connect";
import { call } from "./call";
import { populatedOrganization } from "./populated-organization";
import { world } from "./world";

type Column = { table: string; name: string; type: string; needsValue: boolean; label: string | null };
export type Rows = Map<string, Record<string, unknown>[]>;

/** The columns that a statement may set, of every table of ours; those of an enum with its first label. */
export async function columnsOf(sql: Sql) {
  const columns = await sql<Column[]>`
    select c.relname as table, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull and not a.atthasdef as "needsValue",
      (select enumlabel from pg_enum where enumtypid = a.atttypid order by enumsortorder limit 1) as label
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '' and a.attidentity <> 'a'
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not exists (select from pg_inherits where inhrelid = c.oid) order by c.relname, a.attnum`;
  return Map.groupBy(columns, (each) => each.table);
}

/** Returns the rows of each table for an organization with one of everything, and of the tables that belong to no organization. */
export async function exampleRows(): Promise<Rows> {
  const { organization, user, ids, keys } = await populatedOrganization();
  const reports = [{ assignmentId: ids.assignmentId, state: "installed" }];
  await call("POST", "/agent/reports", { token: keys.agentToken, body: { reports } });
  await user.call("POST", "/users/me/notifications/examples", { body: {} });
  const sample = { metric: "accuracy", value: 0.8, recordedAt: "2026-01-31T12:00:00Z" };
  const wish = { token: keys.ingestKey, headers: { "webhook-id": crypto.randomUUID() }, body: { system: "scoring", samples: [sample] } };
  await call("POST", `/organizations/${organization.id}/ai-governance/ingest/metrics`, wish);
  const leaver = await organization.join();
  await leaver.call("POST", "/users/me/sign-out");
  const rows: Rows = new Map();
  for (const [table, columns] of await columnsOf(world.sql)) {
    const about = columns.some((each) => each.name === "organization_id") ? organization.id : undefined;
    const read = `select coalesce(json_agg(t), '[]')::text as rows from (select * from ${table} ${about ? `where organization_id = '${about}'` : ""}) as t`;
    const [found] = await world.sql.unsafe(read);
    rows.set(table, JSON.parse(found?.rows));
  }
  return rows;
}

/**
 * Puts the rows into a database of whatever age, as far as it has their tables and columns; a table with an empty list gets a
 * row that is made up.
 */
export async function fill(sql: Pool, rows: Rows) {
  await sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`; // whatever the order
    for (const [table, columns] of await columnsOf(tx)) if (rows.has(table)) await fillTable(tx, table, columns, rows);
  });
}

async function fillTable(tx: Sql, table: string, columns: Column[], rows: Rows) {
  const known = rows.get(table) ?? [];
  const made = (known.length > 0 ? known : [{}]).map((row) => complete(row, columns, rows));
  const names = columns.filter(({ name }) => made.some((row) => name in row)).map((each) => `"${each.name}"`);
  await tx.unsafe(`insert into "${table}" (${names}) select ${names} from jsonb_populate_recordset(null::"${table}", $1::text::jsonb)`, [JSON.stringify(made)]);
}

const complete = (row: Record<string, unknown>, columns: Column[], rows: Rows) =>
  Object.fromEntries(
    columns.flatMap(({ name, type, needsValue, label }) => {
      if (row[name] !== undefined && row[name] !== null) return [[name, row[name]]];
      return needsValue ? [[name, label ?? madeUp(name, type, rows)]] : [];
    }),
  );

/** A value of the type, the organization's own id where it is that. */
function madeUp(name: string, type: string, rows: Rows): unknown {
  if (name === "organization_id") return rows.get("organizations")?.[0]?.id;
  if (type.endsWith("[]")) return [];
  if (type === "uuid") return crypto.randomUUID();
  if (type.startsWith("timestamp") || type === "date") return "2026-01-31T12:00:00Z";
  if (type === "bytea") return "\\x00";
  if (type.startsWith("json")) return {};
  if (type === "boolean") return false;
  return /^(smallint|integer|bigint|double precision|numeric|real)/.test(type) ? 1 : "made up";
}

/** Every row of every table, its columns as JSON. */
export async function readAll(sql: Sql): Promise<Rows> {
  const rows: Rows = new Map();
  for (const table of (await columnsOf(sql)).keys()) {
    const [found] = await sql.unsafe(`select coalesce(json_agg(t order by t::text), '[]')::text as rows from "${table}" as t`);
    rows.set(table, JSON.parse(found?.rows));
  }
  return rows;
}

/** Takes everything out of a database. */
export async function empty(sql: Pool) {
  await sql.unsafe("drop schema if exists public cascade");
  await sql.unsafe("drop schema if exists drizzle cascade");
  await sql.unsafe("create schema public");
}
