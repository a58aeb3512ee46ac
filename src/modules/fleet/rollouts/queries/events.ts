import type { Fragment, Sql } from "#db/connect";
import { auditAssignments } from "#modules/fleet/assignments/queries/events";
import { auditMany, type Scope } from "#modules/people/audit/queries";

/** Audit events of the assignments `rows` that a rollout made, deleted, or wants removed. */
export const auditPlaces = (
  sql: Sql,
  scope: Scope,
  rolloutId: string,
  action: "assignment.created" | "assignment.removing" | "assignment.deleted",
  rows: Fragment,
) => auditAssignments(sql, scope, action, rows, sql`jsonb_build_object('rolloutId', ${rolloutId}::text)`, auditMany);

/**
 * Audit events of the assignments `rows` that a rollout gave another certificate; each row has its id, and the certificates as
 * `old` and `new`.
 */
export function auditRenewals(sql: Sql, scope: Scope, rolloutId: string, rows: Fragment) {
  const changes = sql`
    select id, jsonb_build_object('rolloutId', ${rolloutId}::text, 'changes', jsonb_build_object('certificateId', jsonb_build_object('from', old, 'to', new)))
    from ${rows}`;
  return auditMany(sql, scope, "assignment.updated", changes);
}
