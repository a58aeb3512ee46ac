import type { Fragment, Sql } from "#db/connect";
import { statusOf } from "#modules/certificates/certificates/queries/certificates";

/**
 * A join to `shown`: a row's evidence with the present status of each certificate; `needs_attention` when one of them is not
 * active. History keeps evidence as it was written.
 */
export const joinEvidence = (sql: Sql, of: Fragment, now: Date) => sql`cross join lateral (
  select coalesce(jsonb_agg(case when c.id is null then entry else entry || jsonb_build_object('certificateStatus', ${statusOf(sql, now)}) end order by position), '[]') as entries,
    coalesce(bool_or(${statusOf(sql, now)} <> 'active'), false) as needs_attention
  from jsonb_array_elements(${of}.evidence) with ordinality as named (entry, position)
  left join certificates c on c.organization_id = ${of}.organization_id and c.id = (entry->>'certificateId')::uuid) as shown`;
