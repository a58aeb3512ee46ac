import type { Fragment, Sql } from "#db/connect";
import { holdingClaim } from "#db/idempotency-claim";
import { firstIdAt, MAX_UUID, MIN_UUID } from "#db/ids";
import type { Target } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { whereVersion } from "#db/versions";
import type { ACTOR_TYPES, EventFilter } from "./rules";

type Caller = { type: (typeof ACTOR_TYPES)[number]; id?: string; role?: "ORG_ADMIN" | "ORG_MEMBER" };
/**
 * The one who acted: a person, a token, a trusted gateway by headers alone, an agent, a sender of metrics by its key, a worker,
 * the server or the command line.
 */
export type Actor = Caller & {
  via?: Caller;
  /** Of an API token, the user or the token that made it; of a request by no known user, the first who approved it. */
  userId?: string;
};
/** The actor who is responsible for a write, and its request. */
export type Act = { actor: Actor; requestId: string | null };
/** The organization of a write, and the actor responsible for it. */
export type Scope = Act & { organizationId: string };

/** The user who acts, or null. */
export const userOf = ({ actor }: Act) => (actor.type === "user" ? (actor.id ?? null) : null);

/** SQL expression: the id of the user behind an `actor` in JSON, as text; null where none is known. */
export const userBehind = (sql: Sql, actor: Fragment) => sql`case when ${actor}->>'type' = 'user' then ${actor}->>'id' else ${actor}->>'userId' end`;

/** Returns the type of an action's target: `certificate` of `certificate.revoked`. */
const targetOf = (action: string) => action.slice(0, action.indexOf("."));

/** Part of a writing statement: an audit event for each of `rows`, which yield (id, details as jsonb). */
export const audit = (sql: Sql, scope: Scope, action: string, rows: Fragment, targetType = targetOf(action)) => sql`
  ${into(sql)}
  select new_id(), true, ${shared(sql, scope, action, targetType)} from (${rows}) as target (id, details)`;

/**
 * As `audit`, for many rows: the ids of their events follow each other, and only the first event is in the indexes of what all
 * have in common.
 */
export const auditMany = (sql: Sql, scope: Scope, action: string, rows: Fragment, targetType = targetOf(action)) => sql`
  ${into(sql)}
  select nth_id((select new_id()), n), n = 1, ${shared(sql, scope, action, targetType)}
  from (select row_number() over () as n, many.* from (${rows}) as many (id, details)) as target`;

const into = (sql: Sql) => sql`insert into audit_tail (id, is_first, organization_id, actor, action, target_type, target_id, request_id, details)`;

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

const COLUMNS = "organization_id, id, is_first, at, actor, action, target_type, target_id, request_id, details";
/** The advisory lock of the turn that moves events: a second one at the same time would only wait for the rows of the first. */
const MOVING = 4_711_511;

/** Moves events from the tail under the indexes, in no order, so that a long tail is not read to its end; returns how many. */
export async function indexEvents(sql: Sql, count: number) {
  // Not prepared: the plan that is kept from a short tail compares each event of a long one with all that are to move.
  const moved = await sql.unsafe(
    `with turn as materialized (select pg_try_advisory_xact_lock(${MOVING}) as is_ours),
    moved as (
      delete from audit_tail where ctid = any(array(select tail.ctid from turn cross join audit_tail as tail where is_ours limit $1))
      returning *)
    insert into audit_events (${COLUMNS}) select ${COLUMNS} from moved order by organization_id, id`,
    [count],
  );
  return moved.count;
}

/** An event's id is of the moment when it was written, its `at` of the moment when the transaction began: this much earlier at most. */
const LONGEST_TRANSACTION = 3_600_000;
/** The highest number of an event in its write: what twelve hexadecimal digits hold. */
const LAST_OF_WRITE = 2 ** 48 - 1;

/** Returns the newest events of an organization, or without one of the platform: one more than `limit`, each filter by its index. */
export async function listAuditEvents(sql: Sql, organizationId: string | undefined, filter: EventFilter, at: PageBefore) {
  const { targetId, from, to } = filter;
  const last = to === undefined ? MAX_UUID : firstIdAt(Date.parse(to) + LONGEST_TRANSACTION);
  const before = at.before !== undefined && at.before < last ? at.before : last;
  const [limit, columns] = [sql`limit ${at.limit + 1}`, sql.text(COLUMNS)];
  const isAsked = sql`id >= ${from === undefined ? MIN_UUID : firstIdAt(Date.parse(from))} and id < ${before} ${whereShared(sql, filter)}`;
  const isOfTarget = targetId ? sql`and target_id = ${targetId}` : sql``;

  function source() {
    if (organizationId === undefined) return sql`platform_audit_events as event where ${isAsked} ${isOfTarget} order by event.id desc`;
    const isOurs = sql`organization_id = ${organizationId} and ${isAsked} ${isOfTarget}`;
    return sql`((${indexed(isOurs)}) union all (select ${columns} from audit_tail where ${isOurs} order by id desc ${limit})) as event order by event.id desc`;
  }

  function indexed(isOurs: Fragment) {
    const isHashed = targetId ? sql`and hashtextextended(target_id, 0) = hashtextextended(${targetId}, 0)` : sql``;
    if (targetId || !(filter.action || filter.actor))
      return sql`select ${columns} from only audit_events where ${isOurs} ${isHashed} order by id desc ${limit}`;
    const firstIn = (table: string) => sql`(select id from ${sql.text(table)} where ${isOurs} and is_first order by id desc ${limit})`;
    // What the events of one write have in common is asked of the first of them, which may still be in the tail.
    return sql`
      select event.* from (${firstIn("only audit_events")} union all ${firstIn("audit_tail")}) as first
      cross join lateral (
        select ${columns} from only audit_events
        where organization_id = ${organizationId ?? null} and id between first.id and nth_id(first.id, ${LAST_OF_WRITE}) and id < ${before} and (not is_first or id = first.id)
        order by id desc ${limit}) as event
      order by first.id desc, event.id desc ${limit}`;
  }

  const rows = await sql<{ id: string; json: string }[]>`
    select event.id, json_build_object('id', event.id, 'at', iso(at), 'actor', actor, 'action', action, 'targetType', target_type, 'targetId', target_id,
      'requestId', request_id, 'details', details)::text as json from ${source()} ${limit}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** SQL condition: the part of a filter that holds for all events of one write or for none. */
const whereShared = (sql: Sql, { action, actor, from, to }: EventFilter) => sql`
  ${action ? sql`and action = ${action}` : sql``}
  ${actor ? ("id" in actor ? sql`and actor->>'id' = ${actor.id}` : sql`and actor->>'type' = ${actor.type}`) : sql``}
  ${from ? sql`and at >= ${from}` : sql``} ${to ? sql`and at < ${to}` : sql``}`;
