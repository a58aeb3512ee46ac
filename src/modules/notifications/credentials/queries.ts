import { arrayOf, type Sql } from "#db/connect";
import { recordEventsOfKinds } from "#modules/notifications/events/queries/record";

/** Days before the end of a credential on which an event is recorded, each once. */
const THRESHOLDS = [30, 7, 1];

/**
 * Judges the API tokens and agents' credentials that were due first, and records an event of the last threshold that each has passed since
 * it was judged. Returns how many were judged.
 */
export async function watchCredentials(sql: Sql, count: number, now: Date) {
  const at = sql`${now.toISOString()}::timestamptz`;
  const [row] = await sql<{ count: number }[]>`
    with due as materialized (select * from credential_watch where due_at <= ${at} order by due_at limit ${count} for update skip locked),
    -- what each is now, if it is still there
    found as materialized (
      select due.organization_id, due.subject_id, credential, looked_at, coalesce(token.name, agent.name) as name, coalesce(token.expires_at, agent.access_ends_at) as expires_at,
        case when created_by->>'type' = 'user' then (created_by->>'id')::uuid end as user_id
      from due
      left join lateral (select * from api_tokens t where t.organization_id = due.organization_id and t.id = due.subject_id offset 0) as token on true
      left join lateral (select * from agents a where a.organization_id = due.organization_id and a.id = due.subject_id offset 0) as agent on true),
    judged as materialized (
      select found.*, coalesce(expires_at <= ${at}, true) as is_over, passed.days, coalesce(coming.due_at, expires_at) as due_at
      from found
      cross join lateral (
        select min(days) as days from unnest(${arrayOf(THRESHOLDS.map(String))}::int[]) as days
        where expires_at - make_interval(hours => 24 * days) > looked_at and expires_at - make_interval(hours => 24 * days) <= ${at}) as passed
      cross join lateral (
        select min(expires_at - make_interval(hours => 24 * days)) as due_at from unnest(${arrayOf(THRESHOLDS.map(String))}::int[]) as days
        where expires_at - make_interval(hours => 24 * days) > ${at}) as coming),
    moved as (
      update credential_watch w set looked_at = ${at}, due_at = judged.due_at from judged
      where w.organization_id = judged.organization_id and w.subject_id = judged.subject_id and not is_over),
    ended as (
      delete from credential_watch w using judged where w.organization_id = judged.organization_id and w.subject_id = judged.subject_id and is_over),
    recorded as (${recordEventsOfKinds(
      sql,
      sql`
      select organization_id, 'credential_expiring', is_over, subject_id,
        jsonb_build_object('credential', credential, 'name', name, 'expiresAt', iso(expires_at), 'days', days), user_id, null::member_role
      from judged where expires_at is not null and (is_over or days is not null)`,
    )})
    select count(*)::int as count from judged`;
  return row?.count ?? 0;
}
