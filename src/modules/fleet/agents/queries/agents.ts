import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Resource, Target } from "#db/outcome";
import type { PageAfter } from "#db/page";
import { whereVersion } from "#db/versions";
import { agentFacts } from "#modules/fleet/agent-access/queries/stamps";
import { audit, type Scope } from "#modules/people/audit/queries";

/** The columns that every answer shows, as json. */
const agentJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'name', name, 'labels', labels, 'host', host,
  'lastSeenAt', iso(last_seen_at), 'access', case when access_ends_at <= now() then 'none' when public_key is null then 'long-lived' else 'key' end,
  'accessEndsAt', iso(access_ends_at), 'credentialMisusedAt', iso(credential_misused_at), 'heldSince', iso(held_since), 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))`;

type NewAgent = { name: string; labels: Record<string, string>; tokenHash: string };

export async function createAgent(sql: Sql, stamps: Stamps, scope: Scope, { name, labels, tokenHash }: NewAgent) {
  const id = Bun.randomUUIDv7();
  const stamp = stamps.of(agentFacts({ organizationId: scope.organizationId, id, tokenHash, publicKey: null, accessEndsAt: null }));
  const [row] = await sql<(Resource & { id: string })[]>`
    with created as (
      insert into agents (organization_id, id, name, labels, token_hash, stamp)
      values (${scope.organizationId}, ${id}, ${name}, ${JSON.stringify(labels)}::jsonb, decode(${tokenHash}, 'hex'), ${stamp}::bytea) returning *),
    audited as (${audit(sql, scope, "agent.created", sql`select id, jsonb_build_object('name', name, 'labels', labels) from created`)})
    select id, version, ${agentJson(sql)}::text as json from created`;
  if (!row) throw new Error("an agent was not created");
  return row;
}

/** The oldest first, one more than `limit`; `labels` is a jsonpath predicate. */
export async function listAgents(sql: Sql, organizationId: string, labels: string | undefined, { limit, after }: PageAfter) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${agentJson(sql)}::text as json from agents
    where organization_id = ${organizationId} and id > ${after ?? MIN_UUID}
      ${labels === undefined ? sql`` : sql`and labels @@ ${labels}::jsonpath`}
    order by id limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findAgent(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<Resource[]>`select version, ${agentJson(sql)}::text as json from agents where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

/** `stale` when its version is another than the caller's. The name that it has already changes nothing. */
export async function renameAgent(sql: Sql, scope: Scope, { id, versions }: Target, name: string) {
  const renamed = sql`select changed.id, jsonb_build_object('from', current.name, 'to', changed.name) from changed, current`;
  const [row] = await sql<(Resource & { isStale: boolean })[]>`
    with current as (${lockAgent(sql, scope, { id, versions })}),
    changed as (
      update agents set name = ${name}, version = agents.version + 1, updated_at = now() from current
      where agents.organization_id = ${scope.organizationId} and agents.id = current.id and not is_stale and current.name <> ${name} returning agents.*),
    audited as (${audit(sql, scope, "agent.renamed", renamed)})
    select is_stale as "isStale", coalesce((select version from changed), version) as version,
      coalesce((select ${agentJson(sql)} from changed), ${agentJson(sql)})::text as json from current`;
  if (!row) return "not found";
  return row.isStale ? "stale" : row;
}

/** Its assignments and its token go with it. */
export async function deleteAgent(sql: Sql, scope: Scope, target: Target) {
  const [row] = await sql<{ isStale: boolean }[]>`
    with current as (${lockAgent(sql, scope, target)}),
    deleted as (
      delete from agents using current
      where agents.organization_id = ${scope.organizationId} and agents.id = current.id and not is_stale returning agents.id, agents.name),
    audited as (${audit(sql, scope, "agent.deleted", sql`select id, jsonb_build_object('name', name) from deleted`)})
    select is_stale as "isStale" from current`;
  if (!row) return "not found";
  return row.isStale ? "stale" : "done";
}

const lockAgent = (sql: Sql, { organizationId }: Scope, { id, versions }: Target) => sql`
  select *, not ${whereVersion(sql, versions)} as is_stale from agents where organization_id = ${organizationId} and id = ${id} for update`;
