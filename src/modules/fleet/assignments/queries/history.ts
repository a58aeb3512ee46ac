import type { Fragment, Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { PageBefore } from "#db/page";

const reportJson = (sql: Sql) =>
  sql`json_build_object('state', r.state, 'observedFingerprint', r.observed_fingerprint, 'message', r.message, 'reportedAt', iso(r.reported_at),
    'observedAt', iso(r.observed_at))`;

/** As JSON, what was last reported of the assignment `a`, news or not; null before the first report. */
export const lastReport = (sql: Sql) => sql`case when a.reported_state is not null then json_build_object(
  'state', a.reported_state, 'observedFingerprint', a.reported_fingerprint, 'message', a.reported_message, 'reportedAt', iso(a.reported_at),
  'observedAt', iso(a.observed_at)) end`;

/**
 * As JSON, the reports of the assignment `a` that were news, the newest first, no more than `count`: a plain number, for the
 * planner to see.
 */
export const newestReports = (sql: Sql, count: Fragment) => sql`(
  select coalesce(json_agg(${reportJson(sql)}), '[]') from (
    select * from deployment_reports
    where organization_id = a.organization_id and agent_id = a.agent_id and assignment_id = a.id order by id desc limit ${count}) r)`;

type Target = { agentId: string; id: string };

/** All reports of an assignment that were news, the newest first, one more than `limit`; undefined when there is no such assignment. */
export async function listReports(sql: Sql, organizationId: string, { agentId, id }: Target, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string | null; json: string }[]>`
    select r.id, ${reportJson(sql)}::text as json from assignments a
    left join lateral (
      select * from deployment_reports
      where organization_id = a.organization_id and agent_id = a.agent_id and assignment_id = a.id and deployment_reports.id < ${before ?? MAX_UUID}
      order by deployment_reports.id desc limit ${limit + 1}) as r on true
    where a.organization_id = ${organizationId} and a.agent_id = ${agentId} and a.id = ${id} order by r.id desc`;
  return rows.length === 0 ? undefined : rows.flatMap(({ id, json }) => (id === null ? [] : { json, key: [id] }));
}

/** Deletes up to `limit` reports of before `until`, the oldest first, but never the last of an assignment. Returns how many they were. */
export async function deleteOldReports(sql: Sql, until: Date, limit: number) {
  const { count } = await sql`
    delete from deployment_reports where (organization_id, agent_id, assignment_id, id) in (
      select organization_id, agent_id, assignment_id, id from deployment_reports as old
      where reported_at < ${until.toISOString()} and exists (
        select from deployment_reports as newer where newer.organization_id = old.organization_id and newer.agent_id = old.agent_id
          and newer.assignment_id = old.assignment_id and newer.id > old.id)
      order by reported_at limit ${limit}::int)`;
  return count;
}
