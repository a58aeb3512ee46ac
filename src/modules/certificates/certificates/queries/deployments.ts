import type { Fragment, Sql } from "#db/connect";
import { newestReports } from "#modules/fleet/assignments/queries/history";

type Wanted = { organizationId: Fragment; certificateId: Fragment; limit: Fragment; after?: string | undefined };

/** Selects a certificate's deployments, the oldest assignments first: `id` and, as JSON, `deployment`. */
export const deploymentsOf = (sql: Sql, { organizationId, certificateId, limit, after }: Wanted) => sql`
  select a.id, json_build_object('assignmentId', a.id, 'agentId', a.agent_id, 'applicationId', application_id,
    'agentName', (select name from agents where agents.organization_id = a.organization_id and agents.id = a.agent_id),
    'trustStoreType', trust_store_type, 'enabled', enabled, 'state', reported_state, 'observedFingerprint', reported_fingerprint,
    'message', reported_message, 'reportedAt', iso(reported_at), 'observedAt', iso(observed_at), 'history', ${newestReports(sql, sql`5`)}) as deployment
  from (select * from assignments
    where organization_id = ${organizationId} and certificate_id = ${certificateId} ${after ? sql`and assignments.id > ${after}` : sql``}
    order by assignments.id limit ${limit}) as a`;

type Listed = { organizationId: string; certificateId: string; limit: number; after: string | undefined };

/** One more than `limit`; undefined when there is no such certificate. */
export async function listDeployments(sql: Sql, { organizationId, certificateId, limit, after }: Listed) {
  const wanted = { organizationId: sql`${organizationId}`, certificateId: sql`${certificateId}`, limit: sql`${limit + 1}`, after };
  const rows = await sql<{ id: string | null; json: string }[]>`
    select d.id, deployment::text as json from certificates c
    left join (${deploymentsOf(sql, wanted)}) as d on true
    where c.organization_id = ${organizationId} and c.id = ${certificateId} order by d.id`;
  return rows.length === 0 ? undefined : rows.flatMap(({ id, json }) => (id === null ? [] : { json, key: [id] }));
}
