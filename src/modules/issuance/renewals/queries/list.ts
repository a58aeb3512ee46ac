import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { PageAfter } from "#db/page";
import type { State } from "../rules/next";

export type Filter = { state?: State | undefined; late?: boolean | undefined; issuerId?: string | undefined; dueBefore?: string | undefined };

/** SQL conditions: the certificate is still to be renewed, or not any more. Both kinds have indexes of their own. */
const isOpen = (sql: Sql) => sql`state in ('scheduled', 'ordered', 'failed', 'issued')`;
const isOver = (sql: Sql) => sql`state in ('renewed', 'ended')`;

const isIn = (sql: Sql, state: State | undefined) => {
  if (state === undefined) return isOpen(sql);
  return sql`state = ${state} and ${state === "renewed" || state === "ended" ? isOver(sql) : isOpen(sql)}`;
};

/**
 * Lists a page, the next to be renewed first, and one more. Those that are renewed or have ended are left out, unless a state is asked for.
 */
export async function listRenewals(
  sql: Sql,
  organizationId: string,
  { state, late, issuerId, dueBefore }: Filter,
  { limit, after }: PageAfter<readonly [renewAt: string, certificateId: string]>,
) {
  const [renewAt, certificateId] = after ?? ["-infinity", MIN_UUID];
  const rows = await sql<{ id: string; renewAt: string; json: string }[]>`
    select certificate_id as id, iso(renew_at) as "renewAt", json_build_object('certificateId', certificate_id, 'organizationId', organization_id,
      'commonName', common_name, 'notAfter', iso(not_after), 'issuerId', issuer_id, 'state', state, 'renewAt', iso(renew_at), 'lateAt', iso(late_at), 'lateSince', iso(late_since),
      'window', case when window_start is not null then json_build_object('start', iso(window_start), 'end', iso(window_end), 'explanationUrl', explanation_url) end,
      'failures', failures, 'reason', coalesce(case when state = 'ordered' then asked_reason end, failure), 'nextAttemptAt', iso(case when state = 'failed' then retry_at end),
      'requestId', request_id, 'successorId', successor_id, 'updatedAt', iso(updated_at))::text as json
    from (
      select w.*, c.common_name, c.not_after, q.reason as asked_reason from (
        select * from renewals where organization_id = ${organizationId} and (renew_at, certificate_id) > (${renewAt}::timestamptz, ${certificateId}::uuid)
          and ${isIn(sql, state)} ${late ? sql`and late_since is not null` : sql``}
          ${issuerId === undefined ? sql`` : sql`and issuer_id = ${issuerId}`} ${dueBefore === undefined ? sql`` : sql`and renew_at < ${dueBefore}`}
        order by renew_at, certificate_id limit ${limit + 1}) as w
      cross join lateral (select * from certificates where organization_id = w.organization_id and id = w.certificate_id offset 0) as c
      left join lateral (select reason from certificate_requests where organization_id = w.organization_id and id = w.request_id offset 0) as q on true) as renewal
    order by renew_at, certificate_id`;
  return rows.map(({ id, renewAt, json }) => ({ json, key: [renewAt, id] }));
}
