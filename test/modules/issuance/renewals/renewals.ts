import { renewDue } from "#modules/issuance/renewals/services/renew";
import { newAgent } from "../../../support/server/agents";
import { world } from "../../../support/server/world";
import { newSetting, work } from "../requests/requests";

const DAY = 86_400_000;
export const inDays = (days: number) => new Date(Date.now() + days * DAY);

/** One turn of the job on each of some servers at once, so many days from now, for this organization alone: what others have is left as it is. */
export async function renew({ id }: { id: string }, days = 0, servers = 1) {
  const others = await world.sql<{ certificateId: string; reviewAt: string }[]>`
    with others as (select organization_id, certificate_id, look_at from renewals where organization_id <> ${id} and look_at is not null),
    quiet as (
      update renewals w set look_at = null from others o where w.organization_id = o.organization_id and w.certificate_id = o.certificate_id)
    select certificate_id as "certificateId", iso(look_at) as "reviewAt" from others`;
  const at = new Date(inDays(days).getTime() + 1_000); // the database rounds its clock
  await Promise.all(Array.from({ length: servers }, () => renewDue({ ...world.deps, clock: () => at }, new AbortController().signal)));
  await world.sql`
    update renewals w set look_at = o."reviewAt" from jsonb_to_recordset(${JSON.stringify(others)}::text::jsonb) as o ("certificateId" uuid, "reviewAt" timestamptz)
    where w.certificate_id = o."certificateId" and w.organization_id <> ${id}`;
}

/** An issuer, and a certificate of 90 days that it has issued and looks after; `renewed` lets so many days pass, and what was ordered be issued. */
export async function withRenewal(rest: object = {}, ...conduct: Parameters<typeof newSetting>) {
  const setting = await newSetting(...conduct);
  const { organization, order, get } = setting;
  const first = await order(rest);
  await work();
  const { certificateId } = await get(first.id);
  await renew(organization);
  const list = async (query = "") => (await organization.member("GET", `/renewals${query}`)).body.items;
  /** Asks in the order in which a renewal goes, so that one that moves meanwhile is found. */
  const read = async (id = certificateId) => {
    for (const query of ["", "?state=renewed", "?state=ended"]) {
      const found = (await list(query)).find((each: { certificateId: string }) => each.certificateId === id);
      if (found) return found;
    }
  };
  const requests = async () =>
    (await organization.member("GET", "/certificate-requests?limit=100")).body.items.filter((each: { replaces: string | null }) => each.replaces !== null);
  const ask = (body?: object, id = certificateId) => organization.admin("POST", `/certificates/${id}/renew`, body ? { body } : {});
  const pass = async (days: number) => {
    await renew(organization, days);
    await work();
    await renew(organization, days);
  };
  return { ...setting, first, certificateId: String(certificateId), list, read, requests, ask, pass };
}

/** An agent that has the certificate as that of a server, with its key. */
export async function deploy(organization: Awaited<ReturnType<typeof newSetting>>["organization"], certificateId: string, trustStorePath = "/etc/nginx/tls") {
  const agent = await newAgent(organization);
  const body = {
    applicationId: "shop",
    certificateId,
    trustStoreType: "nginx_tls",
    materialType: "server_certificate",
    includePrivateKey: true,
    config: { trustStorePath },
  };
  const { status, text } = await organization.admin("POST", agent.assignments, { body });
  if (status !== 201) throw new Error(`the assignment was answered ${status}: ${text}`);
  return agent;
}
