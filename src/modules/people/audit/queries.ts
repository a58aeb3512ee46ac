import type { Fragment, Sql } from "#db/connect";
import { holdingClaim } from "#db/idempotency-claim";
import { firstIdAt, MAX_UUID, MIN_UUID } from "#db/ids";
import type { Target } from "#db/outcome";
import { whereVersion } from "#db/versions";
import type { ACTOR_TYPES } from "./rules";

type Who = { type: (typeof ACTOR_TYPES)[number]; id?: string; role?: "ORG_ADMIN" | "ORG_MEMBER" };
/** Who acted: a user, an API token of the organization, a trusted gateway by headers alone, an agent, a sender of metrics by its key, a worker, the server by itself, or the command line. */
export type Actor = Who & {
  via?: Who;
  /** Of an API token: the user who made it, or the token that made it. Of what no user is known to have asked for: the first who approved it. */
  userId?: string;
};
/** Who is responsible for a write. */
export type Act = { actor: Actor; requestId: string | null };
/** The organization of a write, and who is responsible for it. */
export type Scope = Act & { organizationId: string };

/** The user who acts, or null. */
export const userOf = ({ actor }: Act) => (actor.type === "user" ? (actor.id ?? null) : null);

/** SQL expression: the id of the user behind an `actor` in JSON, as text; null where none is known. */
export const userBehind = (sql: Sql, actor: Fragment) => sql`case when ${actor}->>'type' = 'user' then ${actor}->>'id' else ${actor}->>'userId' end`;

/** Returns what an action is done to: `certificate` of `certificate.revoked`. */
const targetOf = (action: string) => action.slice(0, action.indexOf("."));

/** Part of a writing statement: an audit event for each of `rows`, which yield (id, details as jsonb). */
export const audit = (sql: Sql, scope: Scope, action: string, rows: Fragment, targetType = targetOf(action)) => sql`
  ${into(sql)}
  select new_id(), true, ${shared(sql, scope, action, targetType)} from (${rows}) as target (id, details)`;

/** As `audit`, for many rows: the ids of their events follow each other, and only the first event is in the indexes of what all have in common. */
export const auditMany = (sql: Sql, scope: Scope, action: string, rows: Fragment, targetType = targetOf(action)) => sql`
  ${into(sql)}
  select nth_id((select new_id()), n), n = 1, ${shared(sql, scope, action, targetType)}
  from (select row_number() over () as n, many.* from (${rows}) as many (id, details)) as target`;

const into = (sql: Sql) => sql`insert into audit_events (id, is_first, organization_id, actor, action, target_type, target_id, request_id, details)`;

const shared = (sql: Sql, { organizationId, actor, requestId }: Scope, action: string, targetType: string) => sql`
  ${organizationId}, ${JSON.stringify(actor)}::jsonb, ${action}, ${targetType}, target.id::text, ${holdingClaim(sql, sql`${requestId}`)}, target.details`;

type Deletion = { table: "api_tokens" | "connections" | "issuers" | "join_tokens" | "metric_thresholds" | "widgets"; action: string; details: Fragment };

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
/** The highest number of an event in its write: what twelve hexadecimal digits hold. */
const LAST_OF_WRITE = 2 ** 48 - 1;

/** Newest first; one more than `limit`. Of an organization, or without one of the platform. An index serves each filter, in that order. */
export async function listAuditEvents(sql: Sql, organizationId: string | undefined, filter: EventFilter, at: Position) {
  const { targetId, from, to } = filter;
  const last = to === undefined ? MAX_UUID : firstIdAt(Date.parse(to) + LONGEST_TRANSACTION);
  const before = at.before !== undefined && at.before < last ? at.before : last;
  const limit = sql`limit ${at.limit + 1}`;
  const isAsked = sql`id >= ${from === undefined ? MIN_UUID : firstIdAt(Date.parse(from))} and id < ${before} ${whereShared(sql, filter)}`;
  const isOfTarget = targetId ? sql`and target_id = ${targetId}` : sql``;

  function source() {
    if (organizationId === undefined) return sql`platform_audit_events as event where ${isAsked} ${isOfTarget} order by event.id desc`;
    const isOurs = sql`organization_id = ${organizationId}`;
    const isHashed = targetId ? sql`and hashtextextended(target_id, 0) = hashtextextended(${targetId}, 0)` : sql``;
    if (targetId || !(filter.action || filter.actor))
      return sql`audit_events as event where ${isOurs} and ${isAsked} ${isHashed} ${isOfTarget} order by event.id desc`;
    // What the events of one write have in common is asked of the first of them.
    return sql`(select id from audit_events where ${isOurs} and ${isAsked} and is_first order by id desc ${limit}) as first
      cross join lateral (
        select * from audit_events where ${isOurs} and id between first.id and nth_id(first.id, ${LAST_OF_WRITE}) and id < ${before} and (not is_first or id = first.id)
        order by id desc ${limit}) as event
      order by first.id desc, event.id desc`;
  }

  const rows = await sql<{ id: string; json: string }[]>`
    select event.id, json_build_object('id', event.id, 'at', iso(at), 'actor', actor, 'action', action, 'targetType', target_type, 'targetId', target_id,
      'requestId', request_id, 'details', details)::text as json from ${source()} ${limit}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** What is asked of events that all events of one write have in common. */
const whereShared = (sql: Sql, { action, actor, from, to }: EventFilter) => sql`
  ${action ? sql`and action = ${action}` : sql``}
  ${actor ? ("id" in actor ? sql`and actor->>'id' = ${actor.id}` : sql`and actor->>'type' = ${actor.type}`) : sql``}
  ${from ? sql`and at >= ${from}` : sql``} ${to ? sql`and at < ${to}` : sql``}`;
