import type { Pool, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { PageBefore } from "#db/page";
import { audit, type Scope } from "#modules/people/audit/queries";
import { heal } from "./channels";

export type DeliveryState = "pending" | "delivered" | "failed";

const deliveryJson = (sql: Sql) => sql`json_build_object('id', id, 'routeId', route_id, 'connectionId', connection_id, 'state', state, 'test', is_test,
  'notification', jsonb_build_object('kind', content->'kind', 'severity', content->'severity', 'title', content->'title', 'message', content->'message', 'link', content->'link'),
  'attempts', attempts, 'lastStatus', attempts->-1->'status', 'reason', reason, 'nextAttemptAt', iso(next_attempt_at), 'createdAt', iso(created_at), 'endedAt', iso(ended_at))::text`;

/** Lists a page, the newest first, and one more. */
export async function listDeliveries(sql: Sql, organizationId: string, routeId: string, state: DeliveryState | undefined, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${deliveryJson(sql)} as json from notification_deliveries
    where organization_id = ${organizationId} and route_id = ${routeId} and id < ${before ?? MAX_UUID} ${state ? sql`and state = ${state}` : sql``}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

type DeliveryOfRoute = { routeId: string; id: string };

/**
 * Queues a delivery once more, with the same id, and lets its channel try at once; `conflict` where its state has ended. `charge` gets the
 * number of mails, and throws where these are too many.
 */
export const redeliver = (pool: Pool, scope: Scope, { routeId, id }: DeliveryOfRoute, charge: (mails: number) => void) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    const [found] = await tx<{ connectionId: string; hasEnded: boolean; mails: number }[]>`
      select connection_id as "connectionId", incident_key is not null and not is_resolve and not is_test and not exists (
          select from notification_incidents i where i.organization_id = d.organization_id and i.connection_id = d.connection_id and i.key = d.incident_key) as "hasEnded",
        coalesce((select jsonb_array_length(config->'recipients') from connections c
          where c.organization_id = d.organization_id and c.id = d.connection_id and c.kind = 'smtp'), 0) as mails
      from notification_deliveries d where organization_id = ${organizationId} and id = ${id} and route_id = ${routeId} for update`;
    if (!found) return "not found" as const;
    if (found.hasEnded) return "conflict" as const;
    charge(found.mails);
    const [row] = await tx<{ json: string }[]>`
      with queued as (
        update notification_deliveries set state = 'pending', next_attempt_at = now(), queued_at = now(), tried_at = null, ended_at = null,
          recipients_done = case when state = 'delivered' then '[]' else recipients_done end
        where organization_id = ${organizationId} and id = ${id} returning *),
      woken as (
        insert into notification_channels (organization_id, connection_id, due_at) select organization_id, connection_id, now() from queued
        on conflict (organization_id, connection_id) do update set due_at = now()),
      audited as (${audit(tx, scope, "notification-delivery.redelivered", tx`select id, jsonb_build_object('routeId', route_id) from queued`)})
      select ${deliveryJson(tx)} as json from queued`;
    return { json: row?.json ?? "" };
  });

type TestDelivery = {
  id: string;
  routeId: string;
  connectionId: string;
  content: object;
  status: number | null;
  reason: string | null;
  incidentKey: string | null;
};

/** Keeps a test delivery. One that was delivered ends the rest of its channel, and what waits there goes out. */
export const saveTest = (pool: Pool, scope: Scope, { id, routeId, connectionId, content, status, reason, incidentKey }: TestDelivery) =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    const outcome = reason === null ? "delivered" : "failed";
    await tx`
      with tried as (
        insert into notification_deliveries (organization_id, id, route_id, connection_id, content, is_test, state, reason, tried_at, ended_at, attempts)
        values (${organizationId}, ${id}, ${routeId}, ${connectionId}, ${JSON.stringify(content)}::text::jsonb, true, ${outcome}, ${reason}, now(), now(),
          jsonb_build_array(jsonb_build_object('at', iso(now()), 'status', ${status}::int, 'reason', ${reason}::text))) returning route_id)
      ${audit(tx, scope, "notification-route.tested", tx`select route_id, jsonb_build_object('outcome', ${outcome}::text) from tried`)}`;
    if (reason !== null) return;
    await heal(tx, { organizationId, connectionId });
    // An incident that a test has opened is ended at once.
    if (incidentKey !== null)
      await tx`
        insert into notification_deliveries (organization_id, id, route_id, connection_id, content, is_test, incident_key, is_resolve, next_attempt_at)
        values (${organizationId}, new_id(), ${routeId}, ${connectionId}, ${JSON.stringify(content)}::text::jsonb, true, ${incidentKey}, true, now())`;
    await tx`
      insert into notification_channels (organization_id, connection_id, due_at)
      select ${organizationId}, ${connectionId}, now()
      where exists (select from notification_deliveries where organization_id = ${organizationId} and connection_id = ${connectionId} and state = 'pending')
      on conflict (organization_id, connection_id) do update set due_at = now()`;
  });
