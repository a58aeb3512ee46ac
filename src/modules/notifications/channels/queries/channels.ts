import { arrayOf, type Pool, type Sql } from "#db/connect";
import type { Content } from "#modules/core/connectors/rules/message";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import type { Room } from "#modules/platform/jobs/rules";

/** The time for which a server has a channel to itself, longer than any call takes; a killed one lets it go then. */
const LEASE = "30 seconds";
const GIVEN_UP = "It could not be delivered within a day.";
/** Attempts that a delivery remembers. */
const REMEMBERED = 100;

/** A channel that this server has, until `until`. */
export type Claim = { organizationId: string; connectionId: string; failures: number; until: string };

/**
 * Takes the channel with room that is due longest and that no server has. Those that fail and those that do not are taken apart, so that
 * the first cannot hold up the others.
 */
export const claimChannel = (sql: Sql, { fullOrganizations }: Room, { isFailing }: { isFailing: boolean }) => sql<Claim[]>`
  update notification_channels c set claimed_until = now() + ${LEASE}::interval
  from (
    select organization_id, connection_id from notification_channels
    where due_at <= now() and (claimed_until is null or claimed_until < now()) and (failures > 0) = ${isFailing}
      and organization_id <> all(${arrayOf(fullOrganizations)}::uuid[])
    order by due_at limit 1 for update skip locked) as due
  where c.organization_id = due.organization_id and c.connection_id = due.connection_id
  returning c.organization_id as "organizationId", c.connection_id as "connectionId", failures, iso(claimed_until) as until`;

const whose = (sql: Sql, { organizationId, connectionId }: Pick<Claim, "organizationId" | "connectionId">) =>
  sql`organization_id = ${organizationId} and connection_id = ${connectionId}`;

export type DueDelivery = {
  id: string;
  content: Content;
  incidentKey: string | null;
  isResolve: boolean;
  recipientsDone: string[];
  tries: number;
  organizationName: string;
};

/**
 * Keeps a channel for longer. Returns until when, and the delivery that is due next, if one is; undefined where another server has taken
 * the channel.
 */
export async function takeDelivery(sql: Sql, claim: Claim): Promise<{ until: string; waiting: DueDelivery | undefined } | undefined> {
  const [row] = await sql<(Omit<DueDelivery, "id"> & { id: string | null; until: string })[]>`
    with kept as (
      update notification_channels set claimed_until = now() + ${LEASE}::interval where ${whose(sql, claim)} and claimed_until = ${claim.until} returning claimed_until)
    select iso(kept.claimed_until) as until, d.id, content, incident_key as "incidentKey", is_resolve as "isResolve", recipients_done as "recipientsDone",
      (select count(*)::int from jsonb_array_elements(attempts) as attempt where (attempt->>'at')::timestamptz >= queued_at) as tries,
      (select name from organizations where id = ${claim.organizationId}) as "organizationName"
    from kept left join lateral (
      select * from notification_deliveries where ${whose(sql, claim)} and state = 'pending' and next_attempt_at <= now() order by next_attempt_at, id limit 1) as d on true`;
  return row && { until: row.until, waiting: row.id === null ? undefined : { ...row, id: row.id } };
}

type Attempt = Pick<Claim, "organizationId" | "connectionId"> & { id: string; status: number | null; reason: string | null; recipientsDone: string[] };

/** Part of the update of a delivery: one more attempt. */
const attempted = (sql: Sql, { status, reason, recipientsDone }: Attempt) => sql`
  attempts = case when jsonb_array_length(attempts) >= ${REMEMBERED} then attempts - 0 else attempts end
    || jsonb_build_array(jsonb_build_object('at', iso(now()), 'status', ${status}::int, 'reason', ${reason}::text)),
  recipients_done = ${JSON.stringify(recipientsDone)}::text::jsonb, tried_at = coalesce(tried_at, now())`;

/** Part of a writing statement: the channel delivers. Where an event was recorded that it fails, the end of that is too. */
export const heal = (sql: Sql, channel: Pick<Claim, "organizationId" | "connectionId">) => sql`
  with before as (select organization_id, connection_id, told_at from notification_channels where ${whose(sql, channel)}),
  healed as (
    update notification_channels set failures = 0, failing_since = null, last_reason = null, told_at = null where ${whose(sql, channel)} and failing_since is not null)
  ${recordEnds(sql, "connection_failed", sql`select organization_id, connection_id from before where told_at is not null`)}`;

export const saveDelivered = (pool: Pool, attempt: Attempt) =>
  pool.begin(async (tx) => {
    await tx`
      update notification_deliveries set ${attempted(tx, attempt)}, state = 'delivered', reason = null, next_attempt_at = null, ended_at = now()
      where organization_id = ${attempt.organizationId} and id = ${attempt.id} and state = 'pending'`;
    await heal(tx, attempt);
  });

/** Part of a writing statement: the channel has failed; `isRest` where it is to rest before the next try. */
const fail = (sql: Sql, attempt: Attempt, isRest: boolean) => sql`
  update notification_channels set failing_since = coalesce(failing_since, now()), last_reason = ${attempt.reason}, failures = failures + ${isRest ? 1 : 0}
  where ${whose(sql, attempt)}`;

/** Keeps a failure that no further attempt can change. */
export const saveFinal = (sql: Sql, attempt: Attempt) => sql`
  with failed as (${fail(sql, attempt, false)})
  update notification_deliveries set ${attempted(sql, attempt)}, state = 'failed', reason = ${attempt.reason}, next_attempt_at = null, ended_at = now()
  where organization_id = ${attempt.organizationId} and id = ${attempt.id} and state = 'pending'`;

/**
 * Keeps a failure, and when the next attempt is. After a day of them a delivery is given up, and with it what has waited for a day for a
 * channel that delivers nothing.
 */
export const saveRetry = (pool: Pool, attempt: Attempt, waitMs: number) =>
  pool.begin(async (tx) => {
    const isOver = tx`tried_at < now() - interval '1 day'`;
    await tx`
      update notification_deliveries set ${attempted(tx, attempt)}, state = case when ${isOver} then 'failed'::delivery_state else state end,
        reason = case when ${isOver} then ${`${GIVEN_UP} ${attempt.reason}`}::text else ${attempt.reason}::text end,
        next_attempt_at = case when ${isOver} then null else now() + ${waitMs}::float8 * interval '1 millisecond' end, ended_at = case when ${isOver} then now() end
      where organization_id = ${attempt.organizationId} and id = ${attempt.id} and state = 'pending'`;
    const [channel] = await tx<{ isLong: boolean }[]>`${fail(tx, attempt, true)} returning failing_since < now() - interval '1 day' as "isLong"`;
    if (channel?.isLong)
      await tx`
        update notification_deliveries set state = 'failed', reason = ${`${GIVEN_UP} ${attempt.reason}`}, next_attempt_at = null, ended_at = now()
        where ${whose(tx, attempt)} and state = 'pending' and queued_at < now() - interval '1 day'`;
  });

/** Lets a channel go until its next delivery is due, and for `restMs` at least where it fails. */
export const releaseChannel = (pool: Pool, claim: Claim, restMs: number) =>
  pool.begin(async (tx) => {
    await tx`select from notification_channels where ${whose(tx, claim)} for update`; // what is queued meanwhile waits, and is seen
    await tx`
      update notification_channels set claimed_until = null, due_at = (
        select greatest(next_attempt_at, now() + ${restMs}::float8 * interval '1 millisecond') from notification_deliveries
        where ${whose(tx, claim)} and state = 'pending' order by next_attempt_at, id limit 1)
      where ${whose(tx, claim)} and claimed_until = ${claim.until}`;
  });

/** Records an event of each channel that has delivered nothing for a day, once. */
export const recordFailingChannels = (sql: Sql) => sql`
  with failing as (
    update notification_channels n set told_at = now() from connections c
    where c.organization_id = n.organization_id and c.id = n.connection_id and n.failing_since < now() - interval '1 day' and n.told_at is null
    returning n.organization_id, n.connection_id, c.name, n.last_reason)
  ${recordEvents(
    sql,
    "connection_failed",
    sql`
    select organization_id, connection_id, jsonb_build_object('name', name, 'reason', 'It has delivered no notification for a day. ' || last_reason), null::uuid, 'ORG_ADMIN'::member_role
    from failing`,
  )}`;

/** Forgets deliveries of more than 90 days ago, so many at once. Returns how many. */
export async function forgetDeliveries(sql: Sql, limit: number) {
  const { count } = await sql`
    delete from notification_deliveries using (
      select organization_id, id from notification_deliveries where created_at < now() - interval '90 days' order by created_at limit ${limit}) as old
    where notification_deliveries.organization_id = old.organization_id and notification_deliveries.id = old.id`;
  return count;
}
