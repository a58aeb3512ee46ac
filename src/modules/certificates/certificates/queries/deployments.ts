import type { Fragment } from "postgres";
import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { newestReports } from "#modules/fleet/assignments/queries/history";

type Wanted = { organizationId: string; certificateId: string; limit: Fragment; after?: string | undefined };

/** Where a certificate is deployed, the oldest assignments first: `id` and, as JSON, `deployment`. */
export const deploymentsOf = (sql: Sql, { organizationId, certificateId, limit, after = MIN_UUID }: Wanted) => sql`
  select a.id, json_build_object('assignmentId', a.id, 'agentId', a.agent_id, 'agentName', agents.name, 'applicationId', application_id,
    'trustStoreType', trust_store_type, 'enabled', enabled, 'state', reported_state, 'observedFingerprint', reported_fingerprint,
    'message', reported_message, 'reportedAt', iso(reported_at), 'history', ${newestReports(sql, sql`5`)}) as deployment
  from (select * from assignments where organization_id = ${organizationId} and certificate_id = ${certificateId} and assignments.id > ${after}
    order by assignments.id limit ${limit}) as a
  join agents on agents.organization_id = a.organization_id and agents.id = a.agent_id order by a.id`;

/** One more than `limit`; undefined when there is no such certificate. */
export async function listDeployments(sql: Sql, { limit, ...wanted }: Omit<Wanted, "limit"> & { limit: number }) {
  const rows = await sql<{ id: string | null; json: string }[]>`
    select d.id, deployment::text as json from certificates c
    left join (${deploymentsOf(sql, { ...wanted, limit: sql`${limit + 1}` })}) as d on true
    where c.organization_id = ${wanted.organizationId} and c.id = ${wanted.certificateId} order by d.id`;
  return rows.length === 0 ? undefined : rows.flatMap(({ id, json }) => (id === null ? [] : { json, key: [id] }));
}
