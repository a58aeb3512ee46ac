import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import type { Failure, Resource } from "#db/outcome";
import type { Deps } from "#deps";
import { keyContext } from "#modules/certificates/certificates/rules/key-context";
import { lockIssuer } from "#modules/issuance/issuers/queries/due";
import { DEFAULT_POLICY, type KeyLocation } from "#modules/issuance/issuing/rules/policy";
import { isRequestProven, stampRequest, UNPROVEN_REQUEST } from "#modules/issuance/requests/queries/asked-keys";
import { findPolicy } from "#modules/issuance/requests/queries/requests";
import { addRequest, type WantedRequest } from "#modules/issuance/requests/services/create";
import { requestOf } from "#modules/issuance/requests/services/keys";
import type { Scope } from "#modules/people/audit/queries";
import { findIssuerOf, lockRenewable, type Renewable, saveKey, saveRequested } from "../queries/renew";
import { algorithmOf, namesOf } from "../rules/template";
import type { Renew } from "../schema";

type Refusal = Exclude<Extract<Failure, object>, { missing: string }>;

/** Orders the successor of a certificate because a person asks for it. */
export async function renewNow(deps: Deps, scope: Scope, certificateId: string, wish: Renew): Promise<(Resource & { id: string }) | Failure> {
  const { organizationId } = scope;
  return deps.sql.begin(async (tx) => {
    const found = await findIssuerOf(tx, organizationId, certificateId);
    if (!found) return "not found";
    const issuerId = wish.issuerId ?? found.issuerId;
    if (issuerId === null) return { inTheWay: "No issuer looks after this certificate: name one in body.issuerId." };
    await lockIssuer(tx, organizationId, issuerId); // before the certificate, as everybody does
    const renewable = await lockRenewable(tx, organizationId, certificateId);
    if (!renewable) return "not found";
    const asked = findHindrance(deps.stamps, renewable) ?? readTemplate(renewable, wish, issuerId);
    if (!("names" in asked)) return asked;
    return requestSuccessor(deps, tx, scope, { certificateId, renewable, asked: { ...asked, replaces: certificateId }, wish });
  });
}

function findHindrance(stamps: Stamps, { status, isCa, openId, successorId, templateProof }: Renewable): Refusal | undefined {
  if (openId !== null) return { inTheWay: `The certificate request ${openId} renews this certificate.` };
  if (successorId !== null) return { inTheWay: `The certificate has a successor already: ${successorId}.` };
  if (status === "retired") return { inTheWay: "The certificate is retired." };
  if (isCa) return { inTheWay: "The certificate is an authority's, which no issuer renews." };
  if (templateProof && !isRequestProven(stamps, templateProof)) return { inTheWay: `It cannot be ordered as before. ${UNPROVEN_REQUEST}` };
}

/** Returns the request for the successor: as it was ordered before or, without that, as the certificate says; but for what is wished. */
function readTemplate(renewable: Renewable, wish: Renew, issuerId: string): WantedRequest | Refusal {
  const { template } = renewable;
  const read = template ?? namesOf(renewable);
  if ("invalid" in read) return read;
  const location = wish.key?.location ?? template?.keyLocation ?? "server";
  const invalid = findKeyFault(renewable, wish, location);
  if (invalid !== undefined) return { invalid };
  const host = location === "agent" ? findHost(renewable) : { agentId: null, deployment: null };
  if ("inTheWay" in host) return host;
  const isSameKind = template !== null && template.keyLocation === location && !wish.reuseKey;
  return {
    issuerId,
    names: read.names,
    keyLocation: location,
    keyAlgorithm: wish.key?.algorithm ?? (isSameKind ? template.keyAlgorithm : algorithmOf(renewable.key)),
    csr: location === "csr" && template?.csr ? Buffer.from(template.csr, "base64") : null,
    agentId: host.agentId,
    deployment: host.deployment,
    profile: issuerId === renewable.issuerId ? (template?.profile ?? null) : null,
    autoRenew: true,
    renewAt: null,
    replaces: null,
  };
}

function findKeyFault({ template, sealedPrivateKey }: Renewable, { key, reuseKey }: Renew, location: KeyLocation) {
  const hasAlgorithm = key?.algorithm !== undefined;
  if (location === "csr" && template?.keyLocation !== "csr") return "body.key.location must be agent or server: the certificate was not issued here for a CSR.";
  if (location === "csr" && hasAlgorithm) return "body.key.algorithm must not be given: the CSR has its key.";
  if (!reuseKey) return;
  if (location === "agent") return "body.reuseKey must be false: a host makes a new key for each certificate.";
  if (location === "server" && (sealedPrivateKey === null || hasAlgorithm))
    return "body.reuseKey needs a certificate whose private key is stored here, and no body.key.algorithm.";
}

/** The host that is to make the key: the one that made it before, else the one where the certificate is. */
function findHost({ template, places: [place, another] }: Renewable): Pick<WantedRequest, "agentId" | "deployment"> | Extract<Refusal, { inTheWay: string }> {
  if (template?.agentId) return template;
  if (!place || another) {
    const where = place ? "in several places" : "nowhere";
    return { inTheWay: `The certificate is ${where}: order one for the host that is to make the key, by a certificate request.` };
  }
  const { agentId, ...deployment } = place;
  return { agentId, deployment };
}

type Successor = { certificateId: string; renewable: Renewable; asked: WantedRequest; wish: Renew };

async function requestSuccessor({ config: { keyring }, stamps }: Deps, tx: Sql, scope: Scope, { certificateId, renewable, asked, wish }: Successor) {
  const { organizationId } = scope;
  const added = await addRequest(tx, stamps, scope, asked, (await findPolicy(tx, organizationId)) ?? DEFAULT_POLICY);
  if (!("id" in added)) return added;
  if (wish.reuseKey && asked.keyLocation === "server" && renewable.sealedPrivateKey) {
    const pem = keyring.unseal(renewable.sealedPrivateKey, keyContext(organizationId, renewable.fingerprintSha256));
    await saveKey(tx, organizationId, added.id, await requestOf(keyring, asked.names, pem, { organizationId, id: added.id }));
    await stampRequest(tx, stamps, organizationId, added.id);
  }
  await saveRequested(tx, organizationId, { certificateId, issuerId: asked.issuerId, requestId: added.id });
  return added;
}
