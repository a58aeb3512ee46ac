import type { Driver, OpenIssuer } from "#modules/issuance/requests/rules/driver";
import { findStored } from "../queries/authorities";
import { findProfile } from "../rules/profiles";
import type { Needs } from "./draft";
import { issueCertificate } from "./issue";
import { issuingFault } from "./signer";

/** What an issuer of the kind `internal` says: which authority, and which of its profiles where an order names none. */
function readConfig({ config }: OpenIssuer) {
  const { authorityId, profile } = config;
  return { authorityId: String(authorityId), profile: typeof profile === "string" ? profile : null };
}

/** Has an authority of the organization issue, in one step: asked again for the same order, it gives the same certificate. */
export const createInternalDriver = (deps: Needs): Driver => ({
  async test(issuer) {
    const { authorityId, profile } = readConfig(issuer);
    const authority = await findStored(deps.sql, issuer.organizationId, authorityId);
    if (!authority) return { outcome: "failed", message: "Its authority is gone." };
    const fault = issuingFault(deps, authority);
    if (fault) return { outcome: "failed", message: fault };
    if (!findProfile(authority.profiles, profile)) return { outcome: "failed", message: `The authority "${authority.name}" has no such profile.` };
    return { outcome: "ok", message: `The authority "${authority.name}" issues.` };
  },
  async take(issuer, { organizationId, requestId, csr, names, profile }) {
    const config = readConfig(issuer);
    const wanted = { organizationId, authorityId: config.authorityId, csr, names, profile: profile ?? config.profile, requestId };
    const issued = await issueCertificate(deps, wanted);
    return "invalid" in issued ? { to: "failed", reason: issued.invalid } : { to: "issued", chainPem: issued.chainPem };
  },
  async end() {}, // nothing is left behind
});
