import type { Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { PageBefore } from "#db/page";

type Filter = { state?: string | undefined; certificateId?: string | undefined };

/** Newest first; one more than `limit`. */
export async function listRevocations(sql: Sql, organizationId: string, { state, certificateId }: Filter, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, json_build_object('id', id, 'organizationId', organization_id, 'certificateId', certificate_id, 'commonName', common_name, 'issuerId', issuer_id,
      'reason', reason, 'state', state, 'attempts', attempts, 'failure', failure, 'nextAttemptAt', iso(due_at), 'toldAt', iso(told_at),
      'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text as json
    from (
      select r.*, c.common_name from (
        select * from ca_revocations where organization_id = ${organizationId} and id < ${before ?? MAX_UUID}
          ${state === undefined ? sql`` : sql`and state = ${state}`} ${certificateId === undefined ? sql`` : sql`and certificate_id = ${certificateId}`}
        order by id desc limit ${limit + 1}) as r
      cross join lateral (select common_name from certificates where organization_id = r.organization_id and id = r.certificate_id offset 0) as c) as revocation
    order by id desc`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}
