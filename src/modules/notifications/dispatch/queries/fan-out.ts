import { arrayOf, type Sql } from "#db/connect";
import type { Severity } from "#modules/core/connectors/rules/message";

/** A route as the fan-out needs it: `connectionKind` is null where it leads to no connection that is there. */
export type ActiveRoute = {
  id: string;
  kinds: string[] | null;
  severity: Severity;
  selectorPath: string | null;
  connectionId: string | null;
  connectionKind: string | null;
  /** The kinds that a webhook's config asks for. */
  events: string[] | null;
  userIds: string[] | null;
  role: "ORG_ADMIN" | "ORG_MEMBER" | null;
};

/** Oldest first; as many as an organization may have. */
export const listActiveRoutes = (tx: Sql, organizationId: string) => tx<ActiveRoute[]>`
  select r.id, r.kinds, r.severity, r.selector_path as "selectorPath", r.connection_id as "connectionId", c.kind as "connectionKind",
    c.config->'events' as events, r.user_ids as "userIds", r.role
  from notification_routes r left join connections c on c.organization_id = r.organization_id and c.id = r.connection_id
  where r.organization_id = ${organizationId} and r.enabled order by r.id`;

/** Returns those of these certificates and agents whose labels fit; what is neither counts as one without labels. */
export async function findFitting(tx: Sql, organizationId: string, path: string, ids: string[]) {
  const rows = await tx<{ id: string }[]>`
    select given.id from unnest(${arrayOf(ids)}::uuid[]) as given (id)
    where coalesce(
      (select labels from certificates where organization_id = ${organizationId} and certificates.id = given.id),
      (select labels from agents where organization_id = ${organizationId} and agents.id = given.id), '{}') @@ ${path}::jsonpath`;
  return new Set(rows.map(({ id }) => id));
}

export type NewDelivery = {
  id: string;
  routeId: string;
  connectionId: string;
  content: object;
  /** The state that it begins, for a channel that keeps incidents, and of which subjects. */
  incident: { key: string; condition: string; subjectIds: string[] } | null;
};

/** Queues deliveries. Where a state begins again whose end still waits, that is given up. */
export async function addDeliveries(tx: Sql, organizationId: string, deliveries: NewDelivery[]) {
  await tx`
    with given as materialized (
      select * from jsonb_to_recordset(${JSON.stringify(deliveries)}::text::jsonb) as d (id uuid, "routeId" uuid, "connectionId" uuid, content jsonb, incident jsonb)),
    begun as (
      insert into notification_incidents (organization_id, condition, subject_id, connection_id, key, route_id)
      select ${organizationId}, incident->>'condition', subject::uuid, "connectionId", incident->>'key', "routeId"
      from given, jsonb_array_elements_text(incident->'subjectIds') as subject
      on conflict do nothing),
    superseded as (
      update notification_deliveries d set state = 'failed', reason = 'The state began again before its end could be delivered.', next_attempt_at = null, ended_at = now()
      from given where d.organization_id = ${organizationId} and d.connection_id = given."connectionId" and d.incident_key = given.incident->>'key' and d.is_resolve and d.state = 'pending'),
    queued as (
      insert into notification_deliveries (organization_id, id, route_id, connection_id, content, incident_key, next_attempt_at)
      select ${organizationId}, id, "routeId", "connectionId", content, incident->>'key', now() from given)
    ${wake(tx, organizationId, tx`select distinct "connectionId" as connection_id from given`)}`;
}

/** Ends the incidents of these subjects, and queues a resolution where the last one of an incident has ended. */
export async function resolveIncidents(tx: Sql, organizationId: string, condition: string, subjectIds: string[], content: object) {
  await tx`
    with ended as (select unnest(${arrayOf(subjectIds)}::uuid[]) as subject_id),
    gone as (
      delete from notification_incidents i using ended where i.organization_id = ${organizationId} and i.condition = ${condition} and i.subject_id = ended.subject_id
      returning i.connection_id, i.key, i.route_id, i.subject_id),
    finished as materialized (
      select distinct on (connection_id, key) connection_id, key, route_id from gone
      where not exists (
        select from notification_incidents i
        where i.organization_id = ${organizationId} and i.connection_id = gone.connection_id and i.key = gone.key and not i.subject_id = any(${arrayOf(subjectIds)}::uuid[]))
      order by connection_id, key, route_id),
    withdrawn as (
      update notification_deliveries d set state = 'failed', reason = 'The state ended before it could be delivered.', next_attempt_at = null, ended_at = now()
      from finished where d.organization_id = ${organizationId} and d.connection_id = finished.connection_id and d.incident_key = finished.key and not d.is_resolve and d.state = 'pending'),
    queued as (
      insert into notification_deliveries (organization_id, id, route_id, connection_id, content, incident_key, is_resolve, next_attempt_at)
      select ${organizationId}, new_id(), route_id, connection_id, ${JSON.stringify(content)}::text::jsonb, key, true, now() from finished)
    ${wake(tx, organizationId, tx`select distinct connection_id from finished`)}`;
}

/** Part of a writing statement: channels are due at once, unless one rests after a failure. `channels` yield a connection_id. */
const wake = (sql: Sql, organizationId: string, channels: ReturnType<Sql>) => sql`
  insert into notification_channels (organization_id, connection_id, due_at)
  select ${organizationId}, connection_id, now() from (${channels}) as channel order by connection_id
  on conflict (organization_id, connection_id) do update set
    due_at = case when notification_channels.failures = 0 then now() else coalesce(notification_channels.due_at, now()) end`;
