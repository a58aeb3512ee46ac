import type { Sql } from "#db/connect";
import { HEALTH } from "#modules/fleet/deployments/rules";
import { recordEvents } from "#modules/notifications/events/queries/record";

/**
 * Reviews the agents that are due, the longest due first, and returns how many. One seen meanwhile is due again later; a silent
 * one is no longer watched until it is seen again.
 */
export async function watchSilence(sql: Sql, count: number, now: Date) {
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
    recorded as (${recordEvents(
      sql,
      "agent_silent",
      sql`
      select organization_id, agent_id, jsonb_build_object('name', name, 'lastSeenAt', iso(last_seen_at)), null::uuid, null::member_role from judged where due_at <= ${at}`,
    )})
    select count(*)::int as count from judged`;
  return row?.count ?? 0;
}
