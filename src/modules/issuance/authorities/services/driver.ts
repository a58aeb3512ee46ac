import type { Driver, OpenIssuer } from "#modules/issuance/issuing/rules/driver";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { findStored } from "../queries/authorities";
import { findProfile, type Profile } from "../rules/profiles";
import { profileNameOf, termsOf } from "../rules/terms";
import { issueCertificate } from "./issue";
import { issuingFault } from "./signer";

/** Returns the config of an issuer of the kind `internal`: its authority, and the profile for orders that name none. */
function readConfig({ config }: OpenIssuer) {
  return { authorityId: String(config.authorityId), profile: profileNameOf(null, config) };
}

/** Has an authority of the organization issue, in one step: asked again for the same order, it gives the same certificate. */
export const createInternalDriver = (deps: IssuingDeps): Driver => ({
  async test(issuer) {
    const { authorityId, profile } = readConfig(issuer);
    const authority = await findStored(deps.sql, issuer.organizationId, authorityId);
    if (!authority) return { outcome: "failed", message: "Its authority is gone." };
    const fault = issuingFault(deps, authority);
    if (fault) return { outcome: "failed", message: fault };
    if (!findProfile(authority.profiles, profile)) return { outcome: "failed", message: `The authority "${authority.name}" has no such profile.` };
    return { outcome: "ok", message: `The authority "${authority.name}" issues.` };
  },
  async take(issuer, { organizationId, requestId, csr, names, profile, approvedTerms }) {
    const { authorityId } = readConfig(issuer);
    const isApproved = (found: Profile) => approvedTerms === null || approvedTerms === termsOf(issuer, found);
    const wanted = { organizationId, authorityId, csr, names, profile: profileNameOf(profile, issuer.config), requestId, isApproved };
    const issued = await issueCertificate(deps, wanted);
    if (!("invalid" in issued)) return { to: "issued", chainPem: issued.chainPem };
    return issued.isOther ? { to: "retry", at: deps.clock(), reason: issued.invalid } : { to: "failed", reason: issued.invalid };
  },
  async end() {}, // nothing is left behind
});
