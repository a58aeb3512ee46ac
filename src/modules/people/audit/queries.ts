import type { Fragment, Sql } from "#db/connect";
import { holdingClaim } from "#db/idempotency-claim";
import { MAX_UUID, MIN_UUID } from "#db/ids";
import type { Target } from "#db/outcome";
import { whereVersion } from "#db/versions";
import type { ACTOR_TYPES } from "./rules";

type Who = { type: (typeof ACTOR_TYPES)[number]; id?: string; role?: "ORG_ADMIN" | "ORG_MEMBER" };
/** Who acted: a user, an API token of the organization, a trusted gateway by headers alone, an agent, a sender of metrics by its key, a worker, the server by itself, or the command line. */
export type Actor = Who & { via?: Who };
/** Who is responsible for a write. */
export type Act = { actor: Actor; requestId: string | null };
/** The organization of a write, and who is responsible for it. */
export type Scope = Act & { organizationId: string };

/** Returns what an action is done to: `certificate` of `certificate.revoked`. */
const targetOf = (action: string) => action.slice(0, action.indexOf("."));

/** Part of a writing statement: an audit event for each of `rows`, which yield (id, details as jsonb). */
export const audit = (sql: Sql, { organizationId, actor, requestId }: Scope, action: string, rows: Fragment, targetType = targetOf(action)) => sql`
  insert into audit_events (organization_id, id, actor, action, target_type, target_id, request_id, details)
  select ${organizationId}, new_id(), ${JSON.stringify(actor)}::jsonb, ${action}, ${targetType}, target.id::text, ${holdingClaim(sql, sql`${requestId}`)}, target.details
  from (${rows}) as target (id, details)`;

type Deletion = { table: "api_tokens" | "connections" | "join_tokens" | "widgets"; action: string; details: Fragment };

/** Deletes a row in an accepted version, with its audit event; `details` speaks of the row's columns. */
export async function deleteAudited(sql: Sql, scope: Scope, { id, versions }: Target, { table, action, details }: Deletion) {
  const [row] = await sql<{ outcome: "done" | "stale" }[]>`
    with current as (select id, version from ${sql.text(table)} where organization_id = ${scope.organizationId} and id = ${id} for update),
    deleted as (
      delete from ${sql.text(table)} as row using current
      where row.organization_id = ${scope.organizationId} and row.id = current.id and ${whereVersion(sql, versions, sql`current.version`)} returning row.*),
    audited as (${audit(sql, scope, action, sql`select id, ${details} from deleted`)})
    select case when exists (select from deleted) then 'done' else 'stale' end as outcome from current`;
  return row?.outcome ?? "not found";
}

/** As `audit`, in the platform's own trail. */
export const auditForPlatform = (sql: Sql, { actor, requestId }: Act, action: string, rows: Fragment, targetType = targetOf(action)) => sql`
  insert into platform_audit_events (id, actor, action, target_type, target_id, request_id, details)
  select new_id(), ${JSON.stringify(actor)}::jsonb, ${action}, ${targetType}, target.id::text, ${holdingClaim(sql, sql`${requestId}`)}, target.details
  from (${rows}) as target (id, details)`;

export type PlatformEvent = { action: string; targetType: string; targetId: string; details?: Record<string, unknown> };

/** Writes one event of the platform's own trail. */
export async function addPlatformEvent(sql: Sql, by: Act, { action, targetType, targetId, details = {} }: PlatformEvent) {
  await auditForPlatform(sql, by, action, sql`select ${targetId}::text, ${JSON.stringify(details)}::jsonb`, targetType);
}

/** What is asked for: `from` inclusive, `to` exclusive, `actor` an id or a type. */
export type EventFilter = { action?: string; actor?: { id: string } | { type: string }; targetId?: string; from?: string; to?: string };
type Position = { limit: number; before: string | undefined };

/** An event's id is of the moment when it was written, its `at` of the moment when the transaction began: this much earlier at most. */
const LONGEST_TRANSACTION = 3_600_000;

/** Newest first; one more than `limit`. Of an organization, or without one of the platform. */
export async function listAuditEvents(sql: Sql, organizationId: string | undefined, { action, actor, targetId, from, to }: EventFilter, at: Position) {
  const last = to === undefined ? MAX_UUID : firstIdAt(Date.parse(to) + LONGEST_TRANSACTION);
  const before = at.before !== undefined && at.before < last ? at.before : last;
  const rows = await sql<{ id: string; json: string }[]>`
    select id, json_build_object('id', id, 'at', iso(at), 'actor', actor, 'action', action, 'targetType', target_type, 'targetId', target_id,
      'requestId', request_id, 'details', details)::text as json
    from ${organizationId ? sql`audit_events where organization_id = ${organizationId} and` : sql`platform_audit_events where`}
      id >= ${from === undefined ? MIN_UUID : firstIdAt(Date.parse(from))} and id < ${before}
      ${action ? sql`and action = ${action}` : sql``}
      ${actor ? ("id" in actor ? sql`and actor->>'id' = ${actor.id}` : sql`and actor->>'type' = ${actor.type}`) : sql``}
      ${targetId ? sql`and target_id = ${targetId}` : sql``}
      ${from ? sql`and at >= ${from}` : sql``} ${to ? sql`and at < ${to}` : sql``}
    order by id desc limit ${at.limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** The lowest UUIDv7 of a millisecond. */
function firstIdAt(milliseconds: number) {
  const time = Math.min(Math.max(Math.floor(milliseconds), 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8)}-0000-0000-000000000000`;
}
