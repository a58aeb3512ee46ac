import type { Sql } from "#db/connect";
import type { Resource, Target } from "#db/outcome";
import { audit, type Scope } from "#modules/people/audit/queries";
import { describeHolder, type Holder } from "../rules";
import type { Assignment } from "../schema/assignments";
import type { OfAgent } from "./assignments";
import { setValues } from "./columns";
import { moves, policyAt, targetOf } from "./place";

/** The assignment that a request changes, and the versions that its body names. */
export type ChangeTarget = Target & OfAgent & { named: number[] };

/** Returns the answer to a change that was made at this moment. */
export function showChanged(assignment: Assignment, updatedAt: string): Resource {
  const version = assignment.version + 1;
  return { version, json: JSON.stringify({ ...assignment, version, etag: `"${version}"`, updatedAt }) };
}

/** A change that was judged by what was read; `changes` has the old and new value of each fact that differs. */
type JudgedChange = { before: Assignment; after: Assignment; changes: object; stamp: Buffer };

/**
 * Writes the change with its audit event. Returns `overtaken` when the assignment has another version by now, or its new
 * certificate is no longer active.
 */
export async function writeChange(
  sql: Sql,
  scope: Scope,
  { before, after, changes, stamp }: JudgedChange,
): Promise<Resource | "overtaken" | { inTheWay: string }> {
  const { organizationId, agentId, id } = before;
  const { place, holder, target, isFree } = moves(changes) ? moving(sql, after) : staying(sql);
  const isActive =
    after.certificateId === before.certificateId
      ? sql``
      : sql`and exists (select from certificates c where c.organization_id = a.organization_id and c.id = ${after.certificateId} and c.status = 'active')`;
  const [row] = await sql<{ holder: Holder | null; updatedAt: string | null }[]>`
    with ${place}
    changed as (
      update assignments a set ${setValues(sql, after)}${target}, stamp = ${stamp}::bytea, version = a.version + 1, updated_at = now()
      where a.organization_id = ${organizationId} and a.agent_id = ${agentId} and a.id = ${id} and a.version = ${before.version} ${isActive} ${isFree}
      returning a.id, a.updated_at),
    audited as (${audit(sql, scope, "assignment.updated", sql`select id, ${JSON.stringify({ changes })}::jsonb from changed`)})
    select ${holder} as holder, iso(updated_at) as "updatedAt" from (select) as one left join changed on true`;
  if (row?.holder) return { inTheWay: describeHolder(row.holder, agentId) };
  return row?.updatedAt ? showChanged(after, row.updatedAt) : "overtaken";
}

/**
 * Returns the parts of the statement for an assignment that moves: its agent is locked first, so that no policy takes the new
 * place meanwhile.
 */
function moving(sql: Sql, { organizationId, agentId, id, trustStoreType, materialType, certificateId, config }: Assignment) {
  const moved = sql`(select ${trustStoreType}::text as trust_store_type, ${materialType}::text as material_type, ${certificateId}::uuid as certificate_id,
    ${JSON.stringify(config)}::jsonb as config) as moved`;
  return {
    place: sql`
      agent as (select organization_id, id from agents where organization_id = ${organizationId} and id = ${agentId} for no key update),
      place as materialized (select ${targetOf(sql, sql`moved`)} as target, ${policyAt(sql, organizationId, sql`moved`, sql`${id}::uuid`)} as holder from ${moved}),`,
    holder: sql`(select holder from place)`,
    target: sql`, target = (select target from place)`,
    isFree: sql`and (select holder from place) is null`,
  };
}

/** … and for one that stays where it is. */
const staying = (sql: Sql) => ({ place: sql``, holder: sql`null::jsonb`, target: sql``, isFree: sql`` });
