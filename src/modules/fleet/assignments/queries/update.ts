import type { Stamp, Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import type { Failure, Resource } from "#db/outcome";
import { matchesVersion } from "#db/versions";
import type { Scope } from "#modules/people/audit/queries";
import { compareFacts, describeHeld, describeIneligible, describeOwner, findFault, type Ineligible, patchAssignment } from "../rules";
import type { Assignment, AssignmentPatch } from "../schema/assignments";
import { assignmentJson, ineligibility } from "./assignments";
import { type Field, ORDERED, PLACE } from "./columns";
import { renameApplication } from "./rename-application";
import { orderOf } from "./stamps";
import { type ChangeTarget, writeChange } from "./write-change";

type Patch = Omit<AssignmentPatch, "version" | "etag">;
/** An assignment before a change; `commonName` is that of the certificate that it would have, `ineligible` what that one has against it. */
type Found = { json: string; stamp: Stamp; isRemoving: boolean; commonName: string; ineligible: Ineligible | null };

/**
 * Returns the assignment as it is afterwards; `conflict` when it is being removed, another one has its place, or the body names
 * another version.
 */
export async function updateAssignment(sql: Pool, stamps: Stamps, scope: Scope, target: ChangeTarget, patch: Patch): Promise<Resource | Failure> {
  const change = (on: Sql) =>
    names(patch, ORDERED) ? readJudgeWrite(on, stamps, scope, target, patch) : renameApplication(on, scope, target, patch.applicationId ?? null);
  try {
    const outcome = await change(sql);
    return outcome === "overtaken" ? await sql.begin((tx) => changeLocked(tx, scope.organizationId, target, patch, change)) : outcome;
  } catch (error) {
    if (hasTakenPlace(error)) return "conflict";
    throw error;
  }
}

const names = (patch: Patch, fields: readonly Field[]) => fields.some((field) => field in patch);

/** Returns true for a unique violation: another assignment has the place. */
const hasTakenPlace = (error: unknown) => error instanceof Error && "code" in error && error.code === "23505";

/** Makes the change where nothing that it reads can change meanwhile. The agent is locked first, as by whatever applies policies. */
async function changeLocked(
  tx: Sql,
  organizationId: string,
  { agentId, id }: ChangeTarget,
  patch: Patch,
  change: (on: Sql) => Promise<Resource | Failure | "overtaken">,
) {
  if (names(patch, PLACE)) await tx`select from agents where organization_id = ${organizationId} and id = ${agentId} for no key update`;
  if (patch.certificateId) await tx`select from certificates where organization_id = ${organizationId} and id = ${patch.certificateId} for share`;
  await tx`select from assignments where organization_id = ${organizationId} and agent_id = ${agentId} and id = ${id} for update`;
  const outcome = await change(tx);
  if (outcome === "overtaken") throw new Error("an assignment that was locked was neither changed nor refused");
  return outcome;
}

/** Returns `overtaken` when what it read was changed before it wrote. */
async function readJudgeWrite(sql: Sql, stamps: Stamps, scope: Scope, target: ChangeTarget, patch: Patch): Promise<Resource | Failure | "overtaken"> {
  const found = await read(sql, scope.organizationId, target, patch);
  if (!found) return "not found";
  const before: Assignment = JSON.parse(found.json);
  const after = patchAssignment(before, patch);
  const refusal = findRefusal(before, after, found, stamps, target, patch);
  if (refusal) return refusal;
  const changes = compareFacts(before, after);
  if (Object.keys(changes).length === 0) return { json: found.json, version: before.version };
  return writeChange(sql, scope, { before, after: { ...after, commonName: found.commonName }, changes, stamp: stamps.of(orderOf(after)) });
}

async function read(sql: Sql, organizationId: string, { agentId, id }: ChangeTarget, { certificateId, materialType, includePrivateKey }: Patch) {
  const demands = {
    isChosen: sql`c.id <> a.certificate_id`,
    material: sql`coalesce(${materialType ?? null}::text, a.material_type)`,
    withKey: sql`coalesce(${includePrivateKey ?? null}::boolean, a.include_private_key)`,
  };
  const [found] = await sql<Found[]>`
    select ${assignmentJson(sql)} as json, a.stamp, removing_since is not null as "isRemoving", common_name as "commonName", case ${ineligibility(sql, demands)} end as ineligible
    from assignments a left join certificates c on c.organization_id = a.organization_id and c.id = coalesce(${certificateId ?? null}::uuid, a.certificate_id)
    where a.organization_id = ${organizationId} and a.agent_id = ${agentId} and a.id = ${id}`;
  return found;
}

/** Returns the first rule that the change breaks, as an answer; undefined where it breaks none. */
function findRefusal(before: Assignment, after: Assignment, found: Found, stamps: Stamps, target: ChangeTarget, patch: Patch): Failure | undefined {
  const invalid = findFault(before, after, patch);
  if (invalid !== undefined) return { invalid };
  if (found.ineligible) return describeIneligible(found.ineligible);
  if (!matchesVersion(target.versions, before.version)) return "stale";
  if (found.isRemoving) return "conflict";
  if (before.policyId !== null) return { inTheWay: describeOwner(before.id, before.policyId) };
  if (target.named.some((version) => version !== before.version)) return "conflict";
  if (!stamps.hold(found.stamp, orderOf(before))) return { inTheWay: describeHeld(before.id) };
}
