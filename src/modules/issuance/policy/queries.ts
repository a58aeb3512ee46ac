import { isDeepStrictEqual } from "node:util";
import type { Fragment, Pool, Sql } from "#db/connect";
import { lockOrganization } from "#db/locks";
import type { Resource } from "#db/outcome";
import { matchesVersion, type Versions } from "#db/versions";
import { judgeVoice } from "#modules/issuance/issuing/rules/four-eyes";
import { tighten } from "#modules/issuance/issuing/rules/loosening";
import { DEFAULT_POLICY, type IssuancePolicy } from "#modules/issuance/issuing/rules/policy";
import { findPolicy } from "#modules/issuance/requests/queries/requests";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { findUserBehind } from "#modules/people/api-tokens/queries";
import { type Actor, audit, type Scope, userOf } from "#modules/people/audit/queries";

/** A policy that waits for another admin than the one who proposed it. */
type Proposal = IssuancePolicy & { id: string; proposedBy: Actor; proposedAt: string };
type Kept = { policy: IssuancePolicy; proposal: Proposal | null; authorId: string | null; version: number };

const facts = (
  sql: Sql,
) => sql`jsonb_build_object('allowedDomains', allowed_domains, 'allowedAddresses', allowed_addresses, 'allowedKeyAlgorithms', allowed_key_algorithms,
  'allowedKeyLocations', allowed_key_locations, 'needsApproval', needs_approval)`;
const policyJson = (sql: Sql) => sql`(${facts(sql)} || jsonb_build_object('organizationId', organization_id, 'version', version, 'updatedAt', iso(updated_at))
  || case when proposal is not null then jsonb_build_object('proposal', proposal) else '{}' end)::text`;
const partsOf = ({ allowedDomains, allowedAddresses, allowedKeyAlgorithms, allowedKeyLocations, needsApproval }: IssuancePolicy): IssuancePolicy => ({
  allowedDomains,
  allowedAddresses,
  allowedKeyAlgorithms,
  allowedKeyLocations,
  needsApproval,
});

/** Returns the policy of an organization, or the default at version 0, as it is answered. */
export async function findIssuancePolicy(sql: Sql, organizationId: string): Promise<Resource> {
  const [row] = await sql<Resource[]>`select ${policyJson(sql)} as json, version from issuance_policies where organization_id = ${organizationId}`;
  return row ?? { json: JSON.stringify({ organizationId, ...DEFAULT_POLICY, version: 0, updatedAt: null }), version: 0 };
}

/** Finds the policy of an organization, and has all other changes of it wait. */
async function lockPolicy(tx: Sql, organizationId: string): Promise<Kept> {
  await lockOrganization(tx, organizationId);
  const policy = await findPolicy(tx, organizationId);
  const [row] = await tx<Omit<Kept, "policy">[]>`
    select proposal, ${findUserBehind(tx, tx`organization_id`, tx`proposal->'proposedBy'`)} as "authorId", version
    from issuance_policies where organization_id = ${organizationId}`;
  return { policy: policy ?? DEFAULT_POLICY, proposal: row?.proposal ?? null, authorId: row?.authorId ?? null, version: row?.version ?? 0 };
}

type Put = Resource & { waits: boolean };

/**
 * Replaces the policy and the proposed one, for requests made from now on. A part that allows more than a policy with approvals
 * is only proposed, and waits for another admin.
 */
export const putIssuancePolicy = (pool: Pool, scope: Scope, next: IssuancePolicy, versions: Versions, now: Date): Promise<Put | "stale"> =>
  pool.begin(async (tx) => {
    const kept = await lockPolicy(tx, scope.organizationId);
    if (!matchesVersion(versions, kept.version)) return "stale";
    const { policy, waits } = tighten(kept.policy, next);
    const isSame =
      isDeepStrictEqual(policy, kept.policy) && (waits ? kept.proposal !== null && isDeepStrictEqual(partsOf(kept.proposal), next) : !kept.proposal);
    if (isSame) return { ...(await findIssuancePolicy(tx, scope.organizationId)), waits };
    const proposal = waits ? { id: Bun.randomUUIDv7(), ...next, proposedBy: scope.actor, proposedAt: now.toISOString() } : null;
    await endProposal(tx, scope, kept.proposal);
    await write(tx, scope, kept, { policy, proposal });
    if (proposal) await propose(tx, scope, proposal);
    return { ...(await findIssuancePolicy(tx, scope.organizationId)), waits };
  });

type Written = { policy: IssuancePolicy; proposal: Proposal | null };

async function write(tx: Sql, scope: Scope, { policy: from, version }: Kept, { policy: to, proposal }: Written) {
  const json = (value: unknown) => (value === null ? null : JSON.stringify(value));
  await tx`
    insert into issuance_policies (organization_id, allowed_domains, allowed_addresses, allowed_key_algorithms, allowed_key_locations, needs_approval, proposal, version)
    values (${scope.organizationId}, ${json(to.allowedDomains)}::text::jsonb, ${json(to.allowedAddresses)}::text::jsonb, ${json(to.allowedKeyAlgorithms)}::text::jsonb,
      ${json(to.allowedKeyLocations)}::text::jsonb, ${to.needsApproval}, ${json(proposal)}::text::jsonb, ${version + 1})
    on conflict (organization_id) do update set allowed_domains = excluded.allowed_domains, allowed_addresses = excluded.allowed_addresses,
      allowed_key_algorithms = excluded.allowed_key_algorithms, allowed_key_locations = excluded.allowed_key_locations, needs_approval = excluded.needs_approval,
      proposal = excluded.proposal, version = excluded.version, updated_at = now()`;
  if (!isDeepStrictEqual(from, to)) await note(tx, scope, "updated", { from, to });
}

const note = (tx: Sql, scope: Scope, action: string, details: object) =>
  tx`${audit(tx, scope, `issuance-policy.${action}`, tx`select ${scope.organizationId}::uuid, ${JSON.stringify(details)}::text::jsonb`)}`;
const subject = (tx: Sql, { organizationId }: Scope, { id }: Proposal): Fragment => tx`select ${organizationId}::uuid, ${id}::uuid`;

async function propose(tx: Sql, scope: Scope, proposal: Proposal) {
  await note(tx, scope, "proposed", { proposalId: proposal.id, policy: partsOf(proposal) });
  await tx`${recordEvents(tx, "issuance_policy_awaits_approval", tx`select ${scope.organizationId}::uuid, ${proposal.id}::uuid, '{}'::jsonb, null::uuid, null::member_role`)}`;
}

/** Notes that a proposal waits no longer, because another policy has taken its place or an admin has decided. */
async function endProposal(tx: Sql, scope: Scope, proposal: Proposal | null) {
  if (proposal) await tx`${recordEnds(tx, "issuance_policy_awaits_approval", subject(tx, scope, proposal))}`;
}

type Decision = { isApproved: boolean; reason: string };

/** Decides on the policy that waits. The first of two users who approve what no user is known to have proposed counts as its author. */
export const decideProposal = (
  pool: Pool,
  scope: Scope,
  proposalId: string,
  { isApproved, reason }: Decision,
): Promise<Resource | "not found" | { forbidden: string }> =>
  pool.begin(async (tx) => {
    const kept = await lockPolicy(tx, scope.organizationId);
    const { proposal, policy, authorId } = kept;
    if (proposal?.id !== proposalId) return "not found";
    const voice = judgeVoice(authorId, scope.actor, "issuance policy");
    if (typeof voice === "object") return voice;
    if (isApproved && voice === "vouch") {
      const userId = userOf(scope) ?? "";
      await write(tx, scope, kept, { policy, proposal: { ...proposal, proposedBy: { ...proposal.proposedBy, userId } } });
      await note(tx, scope, "vouched", { proposalId });
      return findIssuancePolicy(tx, scope.organizationId);
    }
    await endProposal(tx, scope, proposal);
    await write(tx, scope, kept, { policy: isApproved ? partsOf(proposal) : policy, proposal: null });
    await note(tx, scope, isApproved ? "approved" : "refused", { proposalId, ...(!isApproved && { reason }) });
    return findIssuancePolicy(tx, scope.organizationId);
  });
