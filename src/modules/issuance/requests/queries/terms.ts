import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { findStored as findAuthority } from "#modules/issuance/authorities/queries/authorities";
import { findProfile } from "#modules/issuance/authorities/rules/profiles";
import { profileNameOf, termsOf } from "#modules/issuance/authorities/rules/terms";
import { addSteps } from "#modules/issuance/issuing/queries";
import { audit, type Scope } from "#modules/people/audit/queries";
import { stampRequest } from "./asked-keys";
import type { Claim } from "./claims";
import { recordAwaited } from "./requests";
import { holdClaim } from "./save";

type Behind = { organizationId: string; kind: string; config: Record<string, unknown> };

/** Returns what an order of this profile gets at an issuer, as an approval keeps it. */
export async function findTerms(sql: Sql, { organizationId, kind, config }: Behind, profile: string | null) {
  const authority = kind === "internal" ? await findAuthority(sql, organizationId, String(config.authorityId)) : undefined;
  return termsOf({ kind, config }, authority && findProfile(authority.profiles, profileNameOf(profile, config)));
}

const ENDED = "The issuer, or the profile of its authority, has changed since it was approved. It waits for the approval of another admin.";

/** Has a request wait for another approval, because its issuer has become another since the one before. */
export const endApproval = (pool: Pool, stamps: Stamps, claim: Claim) =>
  pool.begin(async (tx) => {
    const { organizationId, id } = claim;
    if (!(await holdClaim(tx, claim))) return;
    const scope: Scope = { organizationId, actor: { type: "server" }, requestId: null };
    await tx`
      with ended as (
        update certificate_requests set approval = 'awaited', approved_by = null, reason = ${ENDED}, claimed_until = null, due_at = null, attempts = 0, failing_since = null,
          version = version + 1, updated_at = now()
        where organization_id = ${organizationId} and id = ${id} returning *),
      stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from ended`)}),
      recorded as (${recordAwaited(tx, tx`ended`)})
      ${audit(tx, scope, "certificate-request.approval-ended", tx`select id, jsonb_build_object('reason', reason) from ended`)}`;
    await stampRequest(tx, stamps, organizationId, id);
  });
