import type { Fragment, Sql } from "#db/connect";

/** Part of a writing statement: a step of each of `rows`, which yield (organization_id, id, status, reason) of requests. */
export const addSteps = (sql: Sql, rows: Fragment) => sql`
  insert into certificate_request_steps (organization_id, request_id, id, status, reason)
  select organization_id, id, new_id(), status, reason from (${rows}) as step (organization_id, id, status, reason)`;

const CHANGED = "The issuer, or the profiles of its authority, have changed since it was ordered. It waits for the approval of another admin.";

/**
 * Gives the requests of `issuers` that wait for an approval a new version, so that none approves what was not shown. The
 * issuers are ids of a change.
 */
export const noteChange = (tx: Sql, organizationId: string, issuers: Fragment) => tx`
  with changed as (
    update certificate_requests set reason = ${CHANGED}, version = version + 1, updated_at = now()
    where organization_id = ${organizationId} and issuer_id in (${issuers}) and approval = 'awaited' and ended_at is null returning *)
  ${addSteps(tx, tx`select organization_id, id, status, reason from changed`)}`;
