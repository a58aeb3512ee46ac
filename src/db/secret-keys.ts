import type { Keyring } from "#crypto/keyring";
import type { Sql } from "./connect";
import { contextOf, SEALED_COLUMNS, type SealedColumn } from "./sealed-columns";

/** How many values of a column are tried where the database holds no check value yet. */
const SAMPLES = 20;

const checkContext = (keyId: string) => `secret-key ${keyId}`;

/**
 * Returns why this ring of keys is not the database's, as a sentence; undefined when it is. Then the database holds a check
 * value of the key that seals.
 */
export async function checkKeys(sql: Sql, keyring: Keyring): Promise<string | undefined> {
  const checks = await sql<{ keyId: string; value: Uint8Array }[]>`select key_id as "keyId", check_value as value from secret_keys order by key_id`;
  const foreign = checks.find(({ keyId, value }) => !opens(keyring, value, checkContext(keyId)));
  if (foreign)
    return `SECRETS_KEY is not this database's: the key ${foreign.keyId} seals secrets there, which SECRETS_KEY does not open: ${describe(keyring)}. ${ADVICE}`;
  const known = checks.map(({ keyId }) => keyId);
  const needed = known.length > 0 ? [] : await keysOfSamples(sql, keyring);
  if (needed === "none opens") return `SECRETS_KEY is not this database's: none of its keys opens the secrets there: ${describe(keyring)}. ${ADVICE}`;
  for (const keyId of new Set([...needed, ...keyring.ids().slice(0, 1)])) if (!known.includes(keyId)) await saveCheck(sql, keyring, keyId);
}

const ADVICE = "List every key that is in use, comma-separated; the first one seals.";
const describe = (keyring: Keyring) => `it lists only ${keyring.ids().join(", ")}`;

const opens = (keyring: Keyring, value: Uint8Array, context: string) => keyring.tryOpen(value, context) !== undefined;

/** Writes the check value of a key of the ring. */
async function saveCheck(sql: Sql, keyring: Keyring, keyId: string) {
  const value = keyring.seal("check", checkContext(keyId), keyId).toString("hex");
  await sql`insert into secret_keys (key_id, check_value) values (${keyId}, decode(${value}, 'hex')) on conflict do nothing`;
}

/** Forgets the keys that seal nothing any more: all but the first of the ring. */
export async function retireKeys(sql: Sql, keyring: Keyring) {
  await sql`delete from secret_keys where key_id <> ${keyring.ids()[0] ?? ""}`;
}

/** Returns the ids of the keys that open values of a database without check values. */
async function keysOfSamples(sql: Sql, keyring: Keyring): Promise<string[] | "none opens"> {
  const samples = (await Promise.all(SEALED_COLUMNS.map((column) => readSamples(sql, column)))).flat();
  const keys = samples.flatMap(({ value, context }) => keyring.tryOpen(value, context)?.keyId ?? []);
  return samples.length > 0 && keys.length === 0 ? "none opens" : keys;
}

async function readSamples(sql: Sql, column: SealedColumn) {
  const rows = await sql<({ value: Uint8Array } & Record<string, unknown>)[]>`
    select ${sql.text(column.column)} as value, ${sql.text(column.boundTo.join(", "))} from ${sql.text(column.table)} where ${sql.text(column.column)} is not null limit ${SAMPLES}`;
  return rows.map((row) => ({ value: row.value, context: contextOf(column, row) }));
}
