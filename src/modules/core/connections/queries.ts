import type { Values } from "#catalogue/fields";
import type { Stamp, Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { describeTaken, hasName, lockNames } from "#db/names";
import { type Resource, type Target, updateLocked } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { connectionFacts, isConnectionProven, UNPROVEN_CONNECTION } from "#modules/core/connectors/queries";
import { withdrawConnection } from "#modules/notifications/channels/queries/withdraw";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { audit, deleteAudited, type Scope } from "#modules/people/audit/queries";

/** The JSON of every answer; of the secrets only their names. */
const connectionJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'kind', kind, 'name', name,
  'config', config, 'secretNames', secret_names,
  'lastTest', case when tested_at is not null then json_build_object('outcome', test_outcome, 'message', test_message, 'testedAt', iso(tested_at)) end,
  'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

/** Newest first; one more than `limit`. */
export async function listConnections(sql: Sql, organizationId: string, { limit, before }: PageBefore, kind: string | undefined) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${connectionJson(sql)} as json from connections
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} ${kind ? sql`and kind = ${kind}` : sql``}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findConnection(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<Resource[]>`select ${connectionJson(sql)} as json, version from connections where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

export type NewConnection = { id: string; kind: string; name: string; config: Values; secretNames: string[]; sealedSecrets: Buffer | null };

/** `invalid` when another connection of the organization has the name. */
export async function createConnection(sql: Sql, stamps: Stamps, scope: Scope, { id, kind, name, config, secretNames, sealedSecrets }: NewConnection) {
  const stamp = stamps.of(connectionFacts({ organizationId: scope.organizationId, id, kind, config }));
  const [row] = await sql<Resource[]>`
    with created as (
      insert into connections (organization_id, id, kind, name, name_key, config, secret_names, sealed_secrets, stamp)
      select ${scope.organizationId}, ${id}, ${kind}, ${name}, name_key(${name}), ${JSON.stringify(config)}::jsonb, ${JSON.stringify(secretNames)}::jsonb, ${sealedSecrets}::bytea, ${stamp}::bytea
      from (${lockNames(sql, "connections", scope.organizationId)}) as locked
      on conflict do nothing returning *),
    audited as (${audit(sql, scope, "connection.created", sql`select id, jsonb_build_object('kind', kind, 'name', name) from created`)})
    select ${connectionJson(sql)} as json, version from created`;
  return row ?? { invalid: await describeTaken(sql, "connections", { ...scope, id, name }) };
}

export type Stored = {
  organizationId: string;
  id: string;
  kind: string;
  name: string;
  config: Values;
  secretNames: string[];
  sealedSecrets: Uint8Array | null;
  stamp: Stamp;
  version: number;
  organizationName: string;
};

/** Returns the stored row, with parts that no answer shows; `hold` keeps others from changing it until the transaction ends. */
export async function findStored(sql: Sql, organizationId: string, id: string, hold = false): Promise<Stored | undefined> {
  const [row] = await sql<Stored[]>`
    select organization_id as "organizationId", id, kind, name, config, secret_names as "secretNames", sealed_secrets as "sealedSecrets", stamp, version,
      (select organizations.name from organizations where organizations.id = organization_id) as "organizationName"
    from connections where organization_id = ${organizationId} and id = ${id} ${hold ? sql`for update` : sql``}`;
  return row;
}

/** A connection after a change; `changed` names the new parts, and `secrets` is there when they are among them. */
export type Change = {
  name: string;
  config: Values;
  secrets: { names: string[]; sealed: Buffer | null } | undefined;
  changed: string[];
};
type Decide = (stored: Stored) => Change | { invalid: string };

/**
 * Changes a connection as `decide` says; in the way is another one that has its new name. A new config or secret makes the last
 * test void.
 */
export const updateConnection = (pool: Pool, stamps: Stamps, scope: Scope, { id, versions }: Target, decide: Decide) =>
  pool.begin(async (tx) => {
    await lockNames(tx, "connections", scope.organizationId);
    return updateLocked(await findStored(tx, scope.organizationId, id, true), versions, async (stored) => {
      if (!isConnectionProven(stamps, stored)) return { inTheWay: UNPROVEN_CONNECTION };
      const change = decide(stored);
      if ("invalid" in change) return change;
      const stamp = stamps.of(connectionFacts({ ...stored, config: change.config }));
      const shown = change.changed.length === 0 ? await findConnection(tx, scope.organizationId, id) : await writeChange(tx, scope, id, { ...change, stamp });
      return shown ?? { inTheWay: await describeTaken(tx, "connections", { ...scope, id, name: change.name }) };
    });
  });

async function writeChange(sql: Sql, scope: Scope, id: string, { name, config, secrets, changed, stamp }: Change & { stamp: Uint8Array }) {
  const isRenamed = changed.includes("name");
  const isRenamedOnly = changed.every((each) => each === "name");
  const parts = sql`select id, jsonb_build_object('changed', ${JSON.stringify(changed)}::jsonb) from changed`;
  const [row] = await sql<Resource[]>`
    with changed as (
      update connections set config = ${JSON.stringify(config)}::jsonb, stamp = ${stamp}::bytea, version = version + 1, updated_at = now()
        ${isRenamed ? sql`, name = ${name}, name_key = name_key(${name})` : sql``}
        ${secrets ? sql`, secret_names = ${JSON.stringify(secrets.names)}::jsonb, sealed_secrets = ${secrets.sealed}::bytea` : sql``}
        ${isRenamedOnly ? sql`` : sql`, tested_at = null, test_outcome = null, test_message = null`}
      where organization_id = ${scope.organizationId} and id = ${id}
        ${isRenamed ? sql`and not exists (select from connections where organization_id = ${scope.organizationId} and ${hasName(sql, name)} and id <> ${id})` : sql``}
      returning *),
    ended as (${recordEnds(sql, "connection_failed", sql`select organization_id, id from changed where tested_at is null`)}),
    audited as (${audit(sql, scope, "connection.updated", parts)})
    select ${connectionJson(sql)} as json, version from changed`;
  return row;
}

/** Deletes a connection. What waits for it as a channel is given up; its notification routes stay, and an event is recorded. */
export const deleteConnection = (pool: Pool, scope: Scope, target: Target) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    const stored = await findStored(tx, organizationId, target.id, true);
    const details = tx`jsonb_build_object('kind', kind, 'name', name)`;
    const outcome = await deleteAudited(tx, scope, target, { table: "connections", action: "connection.deleted", details });
    if (stored && outcome === "done") await withdrawConnection(tx, { organizationId, id: target.id, name: stored.name });
    return outcome;
  });

type Tested = { id: string; version: number; outcome: string; message: string };

/** Saves the outcome of a test, unless the connection has become another meanwhile, and records its event. */
export async function saveTest(sql: Sql, scope: Scope, { id, version, outcome, message }: Tested, now: Date) {
  await sql`
    with tested as (
      update connections set tested_at = ${now.toISOString()}, test_outcome = ${outcome}, test_message = ${message}
      where organization_id = ${scope.organizationId} and id = ${id} and version = ${version} returning organization_id, id, name),
    recorded as (${recordOutcome(sql, outcome, message)})
    ${audit(sql, scope, "connection.tested", sql`select id, jsonb_build_object('outcome', ${outcome}::text) from tested`)}`;
}

const recordOutcome = (sql: Sql, outcome: string, reason: string) =>
  outcome === "failed"
    ? recordEvents(
        sql,
        "connection_failed",
        sql`select organization_id, id, jsonb_build_object('name', name, 'reason', ${reason}::text), null::uuid, null::member_role from tested`,
      )
    : recordEnds(sql, "connection_failed", sql`select organization_id, id from tested where ${outcome} = 'ok'`);
