import type { Sql } from "#db/connect";
import type { Failure } from "#db/outcome";
import { matchesVersion, type Versions } from "#db/versions";
import { type Actor, audit, type Scope } from "#modules/people/audit/queries";
import type { CatalogueControl, FrameworkKey } from "../rules/catalogue";
import {
  applyChange,
  type ControlChange,
  type ControlFilter,
  type ControlState,
  type ControlStatus,
  isAskedFor,
  type ShownEvidence,
  UNTOUCHED,
} from "../rules/controls";
import { recordChange } from "./events";
import { joinEvidence } from "./evidence";

type Stored = ControlState & { version: number; updatedAt: string | null };
type Assessed = { evidence: ShownEvidence[]; needsAttention: boolean };
type Shown = Stored & Assessed;
type HistoryEntry = ControlState & { version: number; at: string; actor: Actor };

/** A control without a change has no row. */
const UNSTORED: Stored = { ...UNTOUCHED, version: 0, updatedAt: null };
const NO_EVIDENCE: Assessed = { evidence: [], needsAttention: false };

const stateJson = (sql: Sql, evidence = sql`evidence`) =>
  sql`'status', status, 'note', note, 'evidence', ${evidence}, 'ownerId', owner_id, 'dueDate', due_date, 'version', version`;
const storedJson = (sql: Sql) => sql`json_build_object(${stateJson(sql)}, 'updatedAt', iso(updated_at))`;
const assessedJson = (sql: Sql) => sql`json_build_object('evidence', shown.entries, 'needsAttention', shown.needs_attention)`;
const shownJson = (sql: Sql) =>
  sql`json_build_object(${stateJson(sql, sql`shown.entries`)}, 'updatedAt', iso(updated_at), 'needsAttention', shown.needs_attention)`;
const joinControlEvidence = (sql: Sql, now: Date) => joinEvidence(sql, sql`controls`, now);

/** Every control that was ever touched, by its id: its status, and whether its evidence needs attention. */
export async function listStatuses(sql: Sql, organizationId: string, now: Date) {
  const rows = await sql<{ id: string; status: ControlStatus; needsAttention: boolean }[]>`
    select control_id as id, status, shown.needs_attention as "needsAttention" from controls ${joinControlEvidence(sql, now)} where organization_id = ${organizationId}`;
  return new Map(rows.map(({ id, ...each }) => [id, each]));
}

type Framework = { key: FrameworkKey; controls: CatalogueControl[] };

/** The framework's controls, of which a hundred at most: the filter is for what a catalogue and a few rows make together. */
export async function listControls(sql: Sql, organizationId: string, { key, controls }: Framework, filter: ControlFilter, now: Date) {
  const rows = await sql<{ id: string; shown: Shown }[]>`
    select control_id as id, ${shownJson(sql)} as shown from controls ${joinControlEvidence(sql, now)}
    where organization_id = ${organizationId} and framework = ${key}`;
  const touched = new Map(rows.map((each) => [each.id, each.shown]));
  return controls
    .map((each) => ({ ...each, framework: key, ...(touched.get(each.id) ?? { ...UNSTORED, ...NO_EVIDENCE }) }))
    .filter((each) => isAskedFor(each, filter));
}

/** The control and its history, newest first and one entry more than `limit`. */
export async function findControlWithHistory(sql: Sql, organizationId: string, id: string, { limit, before }: { limit: number; before: number }, now: Date) {
  const [row] = await sql<{ shown: Shown | null; history: HistoryEntry[] }[]>`
    select (select ${shownJson(sql)} from controls ${joinControlEvidence(sql, now)} where organization_id = ${organizationId} and control_id = ${id}) as shown,
      (select coalesce(json_agg(entry order by version desc), '[]') from (
        select version, json_build_object(${stateJson(sql)}, 'at', iso(at), 'actor', actor) as entry from control_changes
        where organization_id = ${organizationId} and control_id = ${id} and version < ${before} order by version desc limit ${limit + 1}) latest) as history`;
  return { shown: row?.shown ?? { ...UNSTORED, ...NO_EVIDENCE }, history: row?.history ?? [] };
}

type Target = { framework: FrameworkKey; control: CatalogueControl; versions: Versions };

/**
 * Changes a control, deciding again after a concurrent change: an untouched control has no row to lock. The same values keep
 * the version; `invalid` when the control or a named thing forbids it.
 */
export async function changeControl(
  sql: Sql,
  scope: Scope,
  target: Target,
  change: ControlChange,
  now: Date,
): Promise<{ shown: Shown } | Extract<Failure, "stale" | { invalid: string }>> {
  for (;;) {
    const { stored, assessed, invalid } = await findBasis(sql, scope.organizationId, target.control.id, change, now);
    const { version, updatedAt: _, ...state } = stored;
    if (!matchesVersion(target.versions, version)) return "stale";
    const next = invalid === undefined ? applyChange(state, change) : { invalid };
    if ("invalid" in next) return next;
    if (Bun.deepEquals(next, state)) return { shown: { ...stored, ...assessed } };
    const written = await writeControl(sql, scope, { ...target, version, previous: state }, next, now);
    if (written) return { shown: { ...next, version: written.version, updatedAt: written.updatedAt, ...written.assessed } };
  }
}

/** The control as it is, and what the change names although it is not there. */
async function findBasis(sql: Sql, organizationId: string, id: string, { ownerId = null, evidence = [] }: ControlChange, now: Date) {
  const certificates = JSON.stringify(evidence.map((each) => each.certificateId ?? null));
  const [row] = await sql<{ stored: Stored | null; assessed: Assessed | null; ownerIsMember: boolean; missing: number | null }[]>`
    with control as (
      select ${storedJson(sql)} as stored, ${assessedJson(sql)} as assessed from controls ${joinControlEvidence(sql, now)}
      where organization_id = ${organizationId} and control_id = ${id})
    select (select stored from control) as stored, (select assessed from control) as assessed,
      exists (select from members where organization_id = ${organizationId} and user_id = ${ownerId} and status = 'active') as "ownerIsMember",
      (select min(position)::int - 1 from jsonb_array_elements_text(${certificates}::jsonb) with ordinality as named (id, position)
        where named.id is not null and not exists (
          select from certificates where organization_id = ${organizationId} and certificates.id = named.id::uuid)) as missing`;
  return { stored: row?.stored ?? UNSTORED, assessed: row?.assessed ?? NO_EVIDENCE, invalid: row && findMissing(row, ownerId) };
}

function findMissing({ ownerIsMember, missing }: { ownerIsMember: boolean; missing: number | null }, ownerId: string | null) {
  if (ownerId !== null && !ownerIsMember) return "body.ownerId must be the user id of an active member of this organization.";
  if (missing !== null) return `body.evidence.${missing}.certificateId must be a certificate of this organization.`;
  return;
}

type Write = { framework: FrameworkKey; control: CatalogueControl; version: number; previous: ControlState };

/** Nothing when the control has another version by now. */
async function writeControl(sql: Sql, scope: Scope, { framework, control, version, previous }: Write, next: ControlState, now: Date) {
  const details = { framework, ref: control.ref, status: next.status, previousStatus: previous.status };
  const [row] = await sql<{ version: number; updatedAt: string; assessed: Assessed }[]>`
    with stored as (
      insert into controls (organization_id, control_id, framework, status, note, evidence, owner_id, due_date)
      values (${scope.organizationId}, ${control.id}, ${framework}, ${next.status}, ${next.note}, ${JSON.stringify(next.evidence)}::jsonb, ${next.ownerId}, ${next.dueDate})
      on conflict (organization_id, control_id) do update
        set status = excluded.status, note = excluded.note, evidence = excluded.evidence, owner_id = excluded.owner_id, due_date = excluded.due_date,
          version = controls.version + 1, updated_at = now()
        where controls.version = ${version}
      returning *),
    recorded as (
      insert into control_changes (organization_id, control_id, version, status, note, evidence, owner_id, due_date, actor)
      select organization_id, control_id, version, status, note, evidence, owner_id, due_date, ${JSON.stringify(scope.actor)}::jsonb from stored),
    ${recordChange(sql, { framework, control, previous, next }, now)},
    audited as (${audit(sql, scope, "control.changed", sql`select control_id, ${JSON.stringify(details)}::jsonb from stored`)})
    select version, iso(updated_at) as "updatedAt", ${assessedJson(sql)} as assessed from stored ${joinEvidence(sql, sql`stored`, now)}`;
  return row;
}
