import { keepChallenge } from "#modules/issuance/requests/queries/challenges";
import { hashInvitationToken } from "#modules/people/members/rules";
import { certificate, importInto } from "../support/pki/certificates";
import { newCsr } from "../support/pki/csr";
import { newRequested, signElsewhere } from "../support/pki/offline-root";
import type { Wish } from "../support/server/call";
import { newUser } from "../support/server/people";
import type { PopulatedOrganization } from "../support/server/populated-organization";
import { world } from "../support/server/world";

/** A request that waits for another admin than its author; and the token of a user who is one. */
async function awaitApproval({ organization, ids, user }: PopulatedOrganization): Promise<Wish> {
  await organization.admin("PUT", "/issuance-policy", { body: { needsApproval: true } });
  const body = { issuerId: ids.issuerId, names: [`${crypto.randomUUID()}.example`], key: { location: "server" } };
  ids.requestId = (await organization.admin("POST", "/certificate-requests", { body })).body.id;
  return { headers: { authorization: `Bearer ${user.token}` } };
}

/** An issuance policy that waits for another admin; and the token of a user who is one. */
async function proposePolicy({ organization, ids, user }: PopulatedOrganization): Promise<Wish> {
  await organization.admin("PUT", "/issuance-policy", { body: { needsApproval: true } });
  ids.proposalId = (await organization.admin("PUT", "/issuance-policy", { body: {} })).body.proposal.id;
  return { headers: { authorization: `Bearer ${user.token}` } };
}

/** A request that waits for a key of the agent. */
async function awaitKey({ organization, ids }: PopulatedOrganization) {
  const deployment = {
    agentId: ids.agentId,
    applicationId: "payments",
    trustStoreType: "pem_files",
    config: { trustStorePath: "/etc/ssl/example", certFileName: "a.crt" },
  };
  const body = { issuerId: ids.issuerId, names: ["www.example.org"], key: { location: "agent" }, deployment };
  ids.requestId = (await organization.admin("POST", "/certificate-requests", { body })).body.id;
}

/** What a request needs beside the document's example to change something. */
export const NEEDS: Record<string, (everything: PopulatedOrganization) => Promise<Wish> | Wish> = {
  activateAuthority: async ({ ids, organization }) => {
    const { id, requestPem } = await newRequested(organization);
    ids.authorityId = id;
    return { body: { pem: await signElsewhere(requestPem) } };
  },
  acceptInvitation: async ({ ids, organization }) => {
    const token = crypto.randomUUID();
    const [member] = await world.sql<{ email: string }[]>`
      update members set invitation_token_hash = decode(${hashInvitationToken(token)}, 'hex')
      where organization_id = ${organization.id} and id = ${ids.memberId ?? ""} returning email`;
    const user = await newUser({ email: member?.email });
    return { body: { token }, headers: { authorization: `Bearer ${user.token}` } };
  },
  approveCertificateRequest: awaitApproval,
  approveIssuancePolicy: proposePolicy,
  refuseIssuancePolicy: proposePolicy,
  refuseCertificateRequest: awaitApproval,
  createCertificateRequest: ({ ids }) => ({ body: { issuerId: ids.issuerId, names: [`${crypto.randomUUID()}.example`], key: { location: "server" } } }),
  renewCertificate: async ({ organization, ids }) => {
    const [certificateId] = await importInto(organization, certificate().pem);
    Object.assign(ids, { certificateId });
    return { body: { issuerId: ids.issuerId } };
  },
  keepHostCsr: async (everything) => {
    await awaitKey(everything);
    return { body: { csrPem: (await newCsr()).csrPem } };
  },
  reportHostChallenges: async (everything) => {
    await awaitKey(everything);
    const { organization, ids } = everything;
    const challenge = { organizationId: organization.id, requestId: ids.requestId ?? "", name: "www.example.org", token: "token", thumbprint: "thumbprint" };
    await keepChallenge(world.sql, world.deps.stamps, challenge);
    const [kept] = await world.sql<
      { id: string }[]
    >`select id from host_challenges where organization_id = ${organization.id} and request_id = ${ids.requestId ?? ""}`;
    return { body: { challenges: [{ id: kept?.id ?? "", state: "shown" }] } };
  },
  reportHostKeyFault: async (everything) => {
    await awaitKey(everything);
    return { body: { state: "failed", message: "The disk is full." } };
  },
  changeControlStatus: () => ({ body: { status: "not_applicable", note: "We have no such system." } }),
  reindexDocument: async ({ organization }) => {
    await world.sql`update documents set job_id = null where organization_id = ${organization.id}`;
    return {};
  },
  reinstateCertificate: async ({ organization, ids }) => {
    await organization.admin("POST", `/certificates/${ids.certificateId}/revoke`, { body: { reason: "certificateHold" } });
    return {};
  },
  resumeRollout: async ({ organization, ids }) => {
    await organization.admin("POST", `/rollouts/${ids.rolloutId}/halt`);
    return {};
  },
  snoozeNotification: () => ({ body: { until: new Date(Date.now() + 7 * 86_400_000).toISOString().slice(0, 10) } }),
  startRotation: async ({ organization, ids }) => {
    await organization.admin("DELETE", `/certificates/${ids.certificateId}/successor`);
    const [certificateId] = await importInto(organization, certificate({ isCa: true }).pem);
    return { body: { certificateId } };
  },
  updateConnection: () => ({ body: { name: "Another name" } }),
  updateIssuer: () => ({ body: { name: "Another name" } }),
};
