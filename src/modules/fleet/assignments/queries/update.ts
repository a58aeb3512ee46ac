import type { Stamp, Stamps } from "#crypto/stamps";
import { arrayOf, type Sql } from "#db/connect";
import type { Failure, Resource, Target } from "#db/outcome";
import { whereVersion } from "#db/versions";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import type { Scope } from "#modules/people/audit/queries";
import { type ConfigPatch, describeHeld, describeHolder, describeOwner, describeRejection, type Holder, PEM_FILES_PLACES, type Rejection } from "../rules";
import type { AssignmentPatch } from "../schema/assignments";
import { assignmentJson, ineligibility, type OfAgent } from "./assignments";
import { BESIDE_PLACE, coalesced, columns, fromJson, ORDERED, PLACE, setAll } from "./columns";
import { auditChange } from "./events";
import { differsInPlace, policyAt, targetOf } from "./place";
import { type Order, orderOf, wholeOrderPairs } from "./stamps";

/** The patch as it was sent, and what the rules made of it. */
type Change = { patch: Omit<AssignmentPatch, "version" | "etag">; config: ConfigPatch | undefined; materialStores: TrustStoreType[] | undefined };
/** What must still hold besides If-Match: what the body names. */
type Precondition = { version?: number | undefined; etag?: string | undefined };

type Verdict = Rejection | "moved" | "held" | "stale" | "owned" | "conflict" | "same" | "changed";
type Judged = Resource & { verdict: Verdict; trustStoreType: TrustStoreType; policyId: string | null; holder: Holder | null };

/** Decides and writes in one statement, under the row's lock, with the stamp of what it makes of the row that was read before; one that changed since then is read again. A patch that orders nothing needs no such read: the stamp stays, and a row that is held stays held. Returns the assignment as it is afterwards; `conflict` when it is being removed, another one has its place, or the body names another version; a policy that it belongs to, or that has the place, is named. */
export async function updateAssignment(
  sql: Sql,
  stamps: Stamps,
  scope: Scope,
  target: Target & OfAgent,
  change: Change,
  must: Precondition,
): Promise<Resource | Failure> {
  const { organizationId } = scope;
  const { agentId, id, versions } = target;
  const { patch, config, materialStores } = change;
  const order = ORDERED.some((field) => field in patch) ? await stampChange(sql, stamps, organizationId, target, change) : NO_ORDER;
  if (!order) return "not found";
  const { config: _, ...sent } = patch;
  const demands = { isChosen: sql`c.id <> a.certificate_id`, material: sql`w.material_type`, withKey: sql`w.include_private_key` };
  const hasNoPlace = sql`w.trust_store_type = 'pem_files' and not w.config ?| ${arrayOf(PEM_FILES_PLACES)}::text[]`;
  const { lock, locked, rest, holder, kept, place } = PLACE.some((field) => field in patch) ? moving(sql, organizationId, agentId, id, config) : staying(sql);
  const statement = sql<Judged[]>`
    with ${lock}
    -- locks the assignment as it is now
    a as (
      select assignments.* from ${locked} where assignments.organization_id = ${organizationId} and agent_id = ${agentId} and assignments.id = ${id} for update of assignments),
    -- the assignment as the patch makes it
    wanted as (select ${coalesced(sql, "sent", "a", kept)}, ${rest} from a, ${fromJson(sql, sql`${JSON.stringify(sent)}::jsonb`, "sent")}),
    -- the verdict: the first rule that fails, or whether there is a change
    verdict as (
      select w.*, common_name, case
        when a.version <> ${order.version}::int then 'moved'
        when w.trust_store_type <> all(${config ? arrayOf(config.suits) : null}::text[]) then 'unfit config' ${config ? sql`when ${hasNoPlace} then 'no place'` : sql``}
        when w.trust_store_type <> all(${materialStores ? arrayOf(materialStores) : null}::text[]) then 'unfit material'
        when w.material_type = 'trust_anchor' and w.include_private_key then 'anchor with key'
        when a.key_on_host and (w.include_private_key or w.certificate_id <> a.certificate_id) then 'own key' ${ineligibility(sql, demands)}
        when not ${whereVersion(sql, versions, sql`a.version`)} then 'stale'
        when a.removing_since is not null then 'conflict'
        when a.policy_id is not null then 'owned'
        when a.version <> ${must.version ?? null}::int or '"' || a.version || '"' <> ${must.etag ?? null} then 'conflict'
        when ${order.isHeld}::boolean then 'held'
        when (${columns(sql, "a")}) = (${columns(sql, "w")}) then 'same'
        else 'changed' end as verdict, ${differsInPlace(sql, sql`a`, sql`w`)} as moves
      from a cross join wanted w left join certificates c on c.organization_id = ${organizationId} and c.id = w.certificate_id),
    -- the same with the policy that has the new place or null
    judged as materialized (select w.*, ${holder} as holder from verdict w),
    -- writes the change
    changed as (
      update assignments set ${setAll(sql, "j", kept)}${place}, stamp = coalesce(${order.stamp}::bytea, assignments.stamp), version = assignments.version + 1, updated_at = now()
      from judged j where organization_id = ${organizationId} and agent_id = ${agentId} and id = ${id} and verdict = 'changed' and holder is null returning assignments.*),
    -- the audit event of the change
    audited as (${auditChange(sql, scope, sql`a`, sql`changed`, kept)})
    select verdict, holder, a.policy_id as "policyId", a.trust_store_type as "trustStoreType", a.version, ${assignmentJson(sql)} as json
    from judged cross join lateral (select * from changed union all select * from a where verdict <> 'changed' or holder is not null) as a`;
  const [judged] = await statement.catch(conflictOrThrow);
  if (judged === undefined) return "not found";
  if (judged === "conflict") return judged;
  if (judged.verdict === "moved") return updateAssignment(sql, stamps, scope, target, change, must);
  return outcomeOf(judged, judged.verdict, target, patch.config);
}

function outcomeOf(
  judged: Judged,
  verdict: Exclude<Verdict, "moved">,
  { agentId, id }: Target & OfAgent,
  config: AssignmentPatch["config"],
): Resource | Failure {
  const { trustStoreType, policyId, holder } = judged;
  if (holder) return { inTheWay: describeHolder(holder, agentId) };
  if (verdict === "held") return { inTheWay: describeHeld(id) };
  if (verdict === "owned") return { inTheWay: describeOwner(id, policyId ?? "") };
  if (verdict === "changed" || verdict === "same") return judged;
  return verdict === "stale" || verdict === "conflict" ? verdict : describeRejection(verdict, trustStoreType, config);
}

/** The version of the assignment as it is now, whether it is held, and the stamp of what the change makes of it. */
async function stampChange(sql: Sql, stamps: Stamps, organizationId: string, { agentId, id }: OfAgent & Target, change: Change) {
  const [row] = await sql<{ order: Order; stamp: Stamp; version: number }[]>`
    select json_build_object(${wholeOrderPairs(sql, "a")}) as order, stamp, version from assignments a
    where organization_id = ${organizationId} and agent_id = ${agentId} and id = ${id}`;
  if (!row) return;
  return { version: row.version, isHeld: !stamps.hold(row.stamp, orderOf(row.order)), stamp: stamps.of(orderOf(applyPatch(row.order, change))) };
}

const NO_ORDER = { version: null, isHeld: false, stamp: null };

/** The assignment as the statement below makes it. */
function applyPatch(order: Order, { patch: { config: _, ...sent }, config = NO_CHANGE }: Change): Order {
  const patched = Object.entries({ ...(order.config as object), ...config.set }).filter(([field]) => !config.remove.includes(field));
  const defaults = config.defaults as Record<string, object>;
  const named = Object.entries(sent).filter(([, value]) => value !== undefined);
  return { ...order, ...Object.fromEntries(named), config: { ...defaults[String(order.trustStoreType)], ...Object.fromEntries(patched) } };
}

const NO_CHANGE: ConfigPatch = { set: {}, remove: [], defaults: {}, suits: [] };

/** The parts of the statement where the assignment may move: the agent is locked before it, so that no policy takes the place meanwhile. */
function moving(sql: Sql, organizationId: string, agentId: string, id: string, config: ConfigPatch | undefined) {
  const { set, remove, defaults } = config ?? NO_CHANGE;
  return {
    lock: sql`agent as (select organization_id, id from agents where organization_id = ${organizationId} and id = ${agentId} for no key update),`,
    locked: sql`agent join assignments on agent_id = agent.id`,
    kept: ["config"] as const,
    rest: sql`
      coalesce(${JSON.stringify(defaults)}::jsonb->a.trust_store_type, '{}') || ((a.config || ${JSON.stringify(set)}::jsonb) - ${arrayOf(remove)}::text[]) as config`,
    holder: sql`case when verdict = 'changed' and moves then ${policyAt(sql, organizationId, sql`w`, sql`${id}::uuid`)} end`,
    place: sql`, config = j.config, target = ${targetOf(sql, sql`j`)}`,
  };
}

/** … and where it stays, whatever else changes. */
const staying = (sql: Sql) => ({
  lock: sql``,
  locked: sql`assignments`,
  kept: PLACE,
  rest: columns(sql, "a", BESIDE_PLACE),
  holder: sql`null::jsonb`,
  place: sql``,
});

/** Returns `conflict` for a unique violation (23505), because UPDATE has no ON CONFLICT: another assignment has the place. */
function conflictOrThrow(error: unknown): ["conflict"] {
  if (error instanceof Error && "code" in error && error.code === "23505") return ["conflict"];
  throw error;
}
