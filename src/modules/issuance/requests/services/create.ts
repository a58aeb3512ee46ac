import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import type { Failure, Resource } from "#db/outcome";
import { readNewAssignment } from "#modules/fleet/assignments/rules";
import { lockIssuer } from "#modules/issuance/issuers/queries/due";
import { provesWildcards } from "#modules/issuance/issuers/rules/challenges";
import { findProofFault } from "#modules/issuance/issuing/rules/host-proofs";
import { isWildcard, readNames } from "#modules/issuance/issuing/rules/names";
import { DEFAULT_POLICY, findPolicyFault, type IssuancePolicy, type KeyLocation } from "#modules/issuance/issuing/rules/policy";
import type { Scope } from "#modules/people/audit/queries";
import { stampRequest } from "../queries/asked-keys";
import { findAgent, findOpen, findPolicy, insertRequest, type NewRequest } from "../queries/requests";
import { readCsr } from "../rules/csr";
import type { NewCertificateRequest } from "../schema/requests";

export type WantedRequest = Omit<NewRequest, "id" | "isApproved">;

/** A request as it is kept, or what is wrong with it whatever is stored here. */
export function readNewRequest({ key, csrPem, deployment, ...body }: NewCertificateRequest, now: Date): WantedRequest | { invalid: string } {
  const read = readNames(body.names, "body.names");
  if ("invalid" in read) return read;
  const own = readKey(key, csrPem, read.names);
  if ("invalid" in own) return own;
  const misplaced = findMisplaced("deployment", deployment, key.location, "agent");
  if (misplaced !== undefined) return { invalid: misplaced };
  if (body.renewAt !== undefined && Date.parse(body.renewAt) <= now.getTime()) return { invalid: "body.renewAt must be in the future." };
  const place = deployment && readDeployment(deployment);
  if (place && "invalid" in place) return place;
  return {
    issuerId: body.issuerId,
    names: read.names,
    keyLocation: key.location,
    ...own,
    agentId: deployment?.agentId ?? null,
    deployment: place?.assignment ?? null,
    profile: body.profile ?? null,
    autoRenew: body.autoRenew ?? true,
    renewAt: body.renewAt ?? null,
    replaces: null,
  };
}

/** Returns a fault of a field that one key location needs, and no other has. */
function findMisplaced(field: string, value: unknown, location: KeyLocation, needing: KeyLocation) {
  if (location === needing && value === undefined) return `body.${field} is required with the key location ${needing}.`;
  if (location !== needing && value !== undefined) return `body.${field} must not be given with the key location ${location}.`;
}

function readKey(
  { algorithm, location }: NewCertificateRequest["key"],
  csrPem: string | undefined,
  names: WantedRequest["names"],
): Pick<WantedRequest, "keyAlgorithm" | "csr"> | { invalid: string } {
  const misplaced = findMisplaced("csrPem", csrPem, location, "csr");
  if (misplaced !== undefined) return { invalid: misplaced };
  if (csrPem === undefined) return { keyAlgorithm: algorithm ?? "ecdsa-p256", csr: null };
  const csr = readCsr(csrPem, names);
  if ("fault" in csr) return { invalid: `body.csrPem ${csr.fault}.` };
  if (algorithm !== undefined && algorithm !== csr.algorithm) return { invalid: `body.csrPem has a key of ${csr.algorithm}, not of body.key.algorithm.` };
  return { keyAlgorithm: csr.algorithm, csr: csr.der };
}

/** The assignment that is made of the certificate, without it; and how the host proves control of the names, where it does. */
function readDeployment({ agentId, proof, ...given }: NonNullable<NewCertificateRequest["deployment"]>): { assignment: object } | { invalid: string } {
  const read = readNewAssignment({ ...given, certificateId: "", includePrivateKey: false });
  if ("invalid" in read) return { invalid: read.invalid.replace("body.", "body.deployment.") };
  const fault = proof && findProofFault(proof);
  if (fault !== undefined) return { invalid: `body.deployment.proof${fault}.` };
  const { applicationId, trustStoreType, materialType, config } = read;
  return { assignment: { agentId, applicationId, trustStoreType, materialType, config, ...(proof && { proof }) } };
}

/** Adds a request that came over the API: the organization's policy says whether it may, and whether it waits for an approval. */
export const createRequest = (pool: Pool, stamps: Stamps, scope: Scope, asked: WantedRequest) =>
  pool.begin(async (tx) => addRequest(tx, stamps, scope, asked, (await findPolicy(tx, scope.organizationId)) ?? DEFAULT_POLICY));

type Added = Resource & { id: string };

/** Adds a request. In the way is one that is open for the same names at the issuer. */
export async function addRequest(
  tx: Sql,
  stamps: Stamps,
  scope: Scope,
  asked: WantedRequest,
  policy: IssuancePolicy,
): Promise<Added | Extract<Failure, object>> {
  const { organizationId } = scope;
  const issuer = await lockIssuer(tx, organizationId, asked.issuerId);
  if (!issuer) return { missing: "There is no such issuer in this organization." };
  if (asked.agentId !== null && !(await findAgent(tx, organizationId, asked.agentId))) return { missing: "There is no such agent in this organization." };
  if (issuer.kind !== "acme" && asked.replaces === null && asked.deployment && "proof" in asked.deployment)
    return { invalid: "body.deployment.proof belongs to issuers of the kind acme: this one asks for no proof." };
  if (issuer.kind === "acme" && asked.names.some(isWildcard) && !provesWildcards(issuer.config))
    return { invalid: "body.names has a wildcard, which only dns-01 can prove: this issuer has no such challenge." };
  const invalid = findPolicyFault(policy, { names: asked.names, key: { algorithm: asked.keyAlgorithm, location: asked.keyLocation } });
  if (invalid !== undefined) return { invalid };
  const id = Bun.randomUUIDv7();
  const row = await insertRequest(tx, scope, { ...asked, id, isApproved: !policy.needsApproval });
  if (row) {
    await stampRequest(tx, stamps, organizationId, id);
    return { id, ...row };
  }
  const open = await findOpen(tx, organizationId, asked);
  if (open === undefined) return addRequest(tx, stamps, scope, asked, policy); // it has ended meanwhile
  return { inTheWay: `The certificate request ${open} is open for these names at this issuer.` };
}
