import { hashInvitationToken } from "#modules/people/members/rules";
import { certificate, importInto } from "../support/pki/certificates";
import type { Wish } from "../support/server/call";
import { newUser } from "../support/server/people";
import type { PopulatedOrganization } from "../support/server/populated-organization";
import { world } from "../support/server/world";

/** What a request needs beside the document's example to change something. */
export const NEEDS: Record<string, (everything: PopulatedOrganization) => Promise<Wish> | Wish> = {
  acceptInvitation: async ({ ids, organization }) => {
    const token = crypto.randomUUID();
    const [member] = await world.sql<{ email: string }[]>`
      update members set invitation_token_hash = decode(${hashInvitationToken(token)}, 'hex')
      where organization_id = ${organization.id} and id = ${ids.memberId ?? ""} returning email`;
    const user = await newUser({ email: member?.email });
    return { body: { token }, headers: { authorization: `Bearer ${user.token}` } };
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
  startRotation: async ({ organization, ids }) => {
    await organization.admin("DELETE", `/certificates/${ids.certificateId}/successor`);
    const [certificateId] = await importInto(organization, certificate({ isCa: true }).pem);
    return { body: { certificateId } };
  },
  updateConnection: () => ({ body: { name: "Another name" } }),
};
