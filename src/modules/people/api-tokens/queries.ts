import type { Stamps } from "#crypto/stamps";
import type { Fragment, Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import { lockOrganization } from "#db/locks";
import type { IdentifiedResource, Target } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { audit, deleteAudited, type Scope, userBehind } from "#modules/people/audit/queries";
import { type ApiTokenFacts, apiTokenFacts, apiTokenFactsJson, type Role, type StampedRow } from "#modules/people/roles/queries";

/** How many live tokens an organization may have. */
const MAX_LIVE = 100;

/** The columns that every answer shows, as json text. */
const apiTokenJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'name', name, 'role', role,
  'expiresAt', iso(expires_at), 'lastUsedAt', iso(last_used_at), 'createdBy', created_by, 'version', version, 'createdAt', iso(created_at))::text`;

type NewApiToken = { name: string; role: Role; expiresAt?: string | undefined; tokenHash: string };

/**
 * Stores a token, under the organization's row lock. Returns `conflict` when it has as many live ones as it may, `outlives`
 * when an expiring token asks for one that lives longer.
 */
export function createApiToken(
  sql: Pool,
  stamps: Stamps,
  scope: Scope,
  { name, role, expiresAt, tokenHash }: NewApiToken,
  now: Date,
): Promise<IdentifiedResource | "conflict" | "outlives"> {
  const { organizationId, actor } = scope;
  const makerId = (actor.type === "api-token" && actor.id) || null;
  return sql.begin(async (tx) => {
    await lockOrganization(tx, organizationId);
    const [row] = await tx<(IdentifiedResource & { outlives: boolean; facts: ApiTokenFacts })[]>`
      with judged as (
        select exists (
            select from api_tokens where organization_id = ${organizationId} and id = ${makerId} and expires_at < coalesce(${expiresAt ?? null}, 'infinity'::timestamptz)) as outlives,
          (select count(*) from api_tokens where organization_id = ${organizationId} and ${isLive(tx, now)}) >= ${MAX_LIVE} as is_full),
      created as (
        insert into api_tokens (organization_id, id, name, role, token_hash, created_by, expires_at)
        select ${organizationId}, new_id(), ${name}, ${role}, decode(${tokenHash}, 'hex'), ${JSON.stringify(actor)}::jsonb, ${expiresAt ?? null}
        from judged where not outlives and not is_full returning *),
      audited as (${audit(tx, scope, "api-token.created", tx`select id, jsonb_build_object('name', name, 'role', role, 'expiresAt', iso(expires_at)) from created`)})
      select outlives, created.id, version, ${apiTokenJson(tx)} as json, ${apiTokenFactsJson(tx)} as facts from judged left join created on true`;
    if (!row?.id) return row?.outlives ? "outlives" : "conflict";
    await tx`update api_tokens set stamp = ${stamps.of(apiTokenFacts(row.facts))} where organization_id = ${organizationId} and id = ${row.id}`;
    return row;
  });
}

const isLive = (sql: Sql, now: Date) => sql`(expires_at is null or expires_at > ${now.toISOString()})`;

/** Newest first, expired ones too; one more than `limit`. */
export async function listApiTokens(sql: Sql, organizationId: string, { limit, before }: PageBefore) {
  const rows = await sql<IdentifiedResource[]>`
    select id, ${apiTokenJson(sql)} as json from api_tokens
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findApiToken(sql: Sql, organizationId: string, id: string) {
  const [row] = await sql<
    IdentifiedResource[]
  >`select id, version, ${apiTokenJson(sql)} as json from api_tokens where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

/** Deletes a token, which ends it on every replica at once. */
export const revokeApiToken = (sql: Sql, scope: Scope, target: Target) =>
  deleteAudited(sql, scope, target, { table: "api_tokens", action: "api-token.revoked", details: sql`jsonb_build_object('name', name, 'role', role)` });

/**
 * The live token of this hash, with what its stamp must prove, the user behind it, and whether its last use was noted more than
 * a minute ago.
 */
export async function findTokenHolder(sql: Sql, tokenHash: string, now: Date) {
  const [row] = await sql<(StampedRow<ApiTokenFacts> & { makerId: string | null; isDue: boolean })[]>`
    select ${apiTokenFactsJson(sql)} as facts, stamp, held_since is not null as "isUnproven", ${userBehind(sql, sql`created_by`)} as "makerId", ${isDue(sql, now)} as "isDue"
    from api_tokens where token_hash = decode(${tokenHash}, 'hex') and ${isLive(sql, now)}`;
  return row;
}

export async function noteUse(sql: Sql, { organizationId, apiTokenId }: { organizationId: string; apiTokenId: string }, now: Date) {
  await sql`
    update api_tokens set last_used_at = ${now.toISOString()}
    where organization_id = ${organizationId} and id = ${apiTokenId} and ${isDue(sql, now)}`;
}

const isDue = (sql: Sql, now: Date) => sql`(last_used_at is null or last_used_at < ${now.toISOString()}::timestamptz - interval '1 minute')`;

/**
 * SQL expression: the id of the user behind an actor, as text; null if unknown. API tokens of earlier releases name no user, so
 * it is looked for among the tokens that made each other.
 */
export const findUserBehind = (sql: Sql, organizationId: Fragment, createdBy: Fragment) => sql`(
  with recursive makers (actor) as (
    select ${createdBy}
    union all
    select t.created_by from makers join api_tokens t on t.organization_id = ${organizationId} and t.id::text = makers.actor->>'id'
    where makers.actor->>'type' = 'api-token' and not makers.actor ? 'userId')
  select user_id from (select ${userBehind(sql, sql`actor`)} as user_id from makers) as behind where user_id is not null)`;
