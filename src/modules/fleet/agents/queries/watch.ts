import type { Sql } from "#db/connect";
import { HEALTH } from "#modules/fleet/deployments/rules";
import { notify } from "#modules/notifications/events/queries/notify";

/**
 * Looks at the agents that were due first. One that was seen meanwhile is looked at when it could be silent next; one that is silent is no
 * longer watched, until a trigger does so when it is seen again. Returns how many were looked at.
 */
export async function lookForSilence(sql: Sql, count: number, now: Date) {
  const at = sql`${now.toISOString()}::timestamptz`;
  const silence = sql`${`${HEALTH.silentAfterMinutes} minutes`}::interval`;
  const [row] = await sql<{ count: number }[]>`
    with due as materialized (select * from agent_watch where due_at <= ${at} order by due_at limit ${count} for update skip locked),
    judged as materialized (
      select due.organization_id, due.agent_id, a.name, a.last_seen_at, a.last_seen_at + ${silence} as due_at
      from due left join lateral (select * from agents where agents.organization_id = due.organization_id and agents.id = due.agent_id offset 0) as a on true),
    moved as (
      update agent_watch w set due_at = judged.due_at from judged
      where w.organization_id = judged.organization_id and w.agent_id = judged.agent_id and judged.due_at > ${at}),
    ended as (
      delete from agent_watch w using judged
      where w.organization_id = judged.organization_id and w.agent_id = judged.agent_id and (judged.due_at <= ${at} or judged.due_at is null)),
    told as (${notify(
      sql,
      "agent_silent",
      sql`
      select organization_id, agent_id, jsonb_build_object('name', name, 'lastSeenAt', iso(last_seen_at)), null::uuid, null::member_role from judged where due_at <= ${at}`,
    )})
    select count(*)::int as count from judged`;
  return row?.count ?? 0;
}
