import type { Sql } from "#db/connect";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";

/** Gives up what waits because of a route. */
export const withdrawRoute = (tx: Sql, organizationId: string, routeId: string, reason: string) => tx`
  update notification_deliveries set state = 'failed', reason = ${reason}, next_attempt_at = null, ended_at = now()
  where organization_id = ${organizationId} and route_id = ${routeId} and state = 'pending'`;

/**
 * Gives up what waits for a connection that was deleted in this transaction. Its routes stay, without a target; where there are any, an
 * event is recorded.
 */
export async function withdrawConnection(tx: Sql, { organizationId, id, name }: { organizationId: string; id: string; name: string }) {
  const about = tx`organization_id = ${organizationId} and connection_id = ${id}`;
  await tx`
    with withdrawn as (
      update notification_deliveries set state = 'failed', reason = 'The connection was deleted.', next_attempt_at = null, ended_at = now() where ${about} and state = 'pending'),
    incidents as (delete from notification_incidents where ${about}),
    channel as (delete from notification_channels where ${about}),
    routes as (select count(*) as count, string_agg(name, ', ' order by name) as names from notification_routes where ${about})
    ${recordEvents(
      tx,
      "connection_failed",
      tx`
      select ${organizationId}::uuid, ${id}::uuid, jsonb_build_object('name', ${name}::text, 'reason', 'It was deleted, and these notification routes lead to it: ' || names || '.'),
        null::uuid, 'ORG_ADMIN'::member_role
      from routes where count > 0`,
    )}`;
}

/** Ends the state of a deleted connection once no route leads to it any more. */
export async function endMissing(tx: Sql, organizationId: string, connectionId: string | undefined) {
  if (connectionId === undefined) return;
  await recordEnds(
    tx,
    "connection_failed",
    tx`
    select ${organizationId}::uuid, ${connectionId}::uuid
    where not exists (select from connections where organization_id = ${organizationId} and id = ${connectionId})
      and not exists (select from notification_routes where organization_id = ${organizationId} and connection_id = ${connectionId})`,
  );
}
