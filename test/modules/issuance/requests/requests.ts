import { X509Certificate } from "node:crypto";
import type { Driver, Issuing, OpenIssuer, Revoked, Step } from "#modules/issuance/issuing/rules/driver";
import type { Drivers } from "#modules/issuance/issuing/services/drivers";
import { issuing } from "#modules/issuance/requests/services/work";
import { chain } from "../../../support/pki/certificates";
import { signCsr } from "../../../support/pki/csr";
import { call } from "../../../support/server/call";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { ISSUING, runShared } from "../../../support/server/shared-jobs";
import { world } from "../../../support/server/world";
import { acme } from "../issuers/issuers";

export const PATH = "/certificate-requests";
export const newName = () => `${crypto.randomUUID()}.example.org`;

/** What the issuer of each id does at each step, and at the end. */
type Conduct = {
  take: (issuing: Issuing, issuer: OpenIssuer, signal: AbortSignal) => Step | Promise<Step>;
  end?: (issuing: Issuing) => Promise<void> | void;
  revoke?: (revoked: { pem: string; reason: string }) => Revoked | Promise<Revoked>;
};
const CONDUCTS = new Map<string, Conduct>();
export const conduct = (issuerId: string, next: Conduct) => void CONDUCTS.set(issuerId, next);

const driver: Driver = {
  test: async () => ({ outcome: "ok", message: "It is there." }),
  take: async (issuer, issuing, signal) => (await CONDUCTS.get(issuer.id)?.take(issuing, issuer, signal)) ?? { to: "failed", reason: "It is another test's." },
  end: async (issuer, issuing) => CONDUCTS.get(issuer.id)?.end?.(issuing),
  revoke: async (issuer, revoked) => (await CONDUCTS.get(issuer.id)?.revoke?.(revoked)) ?? { to: "failed", reason: "It is another test's." },
};
export const DRIVERS: Drivers = { internal: () => driver, acme: () => driver };

const { intermediate } = chain();
/** The step of a CA that issues what is asked for. */
export const issued = async ({ csr }: Pick<Issuing, "csr">, days = 90): Promise<Step> => ({
  to: "issued",
  chainPem: (await signCsr(csr, intermediate, days)) + intermediate.pem,
});

/** Works on what is due until nothing is, as the job does. */
export const work = (deps = world.deps, signal = new AbortController().signal) =>
  runShared(ISSUING, deps, signal, (name) => issuing({ ...deps, drivers: DRIVERS }, { isOwn: name === "issue-own-certificates" }));

/** Lets pass what requests and issuers wait for; the columns round to milliseconds, which may be later than the next look. */
export async function passTime({ id }: Pick<TestOrganization, "id">) {
  const past = world.sql`now() - interval '1 second'`;
  await world.sql`update issuers set due_at = ${past}, retry_at = least(retry_at, ${past}) where organization_id = ${id} and due_at is not null`;
  await world.sql`update certificate_requests set due_at = ${past}, claimed_until = null where organization_id = ${id} and due_at is not null`;
}

/** An organization with an issuer that does as `conduct` says: it issues at once unless said. */
export async function newSetting(
  take: Conduct["take"] = (issuing) => issued(issuing),
  end?: Conduct["end"],
  given: object = acme({ name: crypto.randomUUID() }),
) {
  const organization = await newOrganization();
  const { body: issuer } = await organization.admin("POST", "/issuers", { body: given });
  conduct(issuer.id, { take, ...(end && { end }) });
  const ask = (rest: object = {}) =>
    organization.admin("POST", PATH, { body: { issuerId: issuer.id, names: [newName()], key: { location: "server" }, ...rest } });
  const order = async (rest: object = {}) => {
    const answer = await ask(rest);
    if (answer.status !== 202) throw new Error(`the order was answered ${answer.status}: ${answer.text}`);
    return answer.body as { id: string; names: string[]; version: number };
  };
  const get = async (id: string) => (await organization.member("GET", `${PATH}/${id}`)).body;
  const statusesOf = async (id: string) => (await get(id)).steps.map(({ status }: { status: string }) => status);
  const certificateOf = async (id: string) => {
    const { body } = await organization.member("GET", `/certificates/${(await get(id)).certificateId}`);
    return { ...body, x509: new X509Certificate(body.pem) };
  };
  return { organization, issuer, ask, order, get, statusesOf, certificateOf };
}

/** As `newSetting`, with a policy that asks for approvals, and two admins. */
export async function withApprovals(needsApproval = true, ...given: Parameters<typeof newSetting>) {
  const setting = await newSetting(...given);
  await setting.organization.admin("PUT", "/issuance-policy", { body: { needsApproval } });
  const [author, other] = [await setting.organization.join(), await setting.organization.join()];
  const as = (token: string) => (method: string, path: string, body?: object) =>
    call(method, `/organizations/${setting.organization.id}${path}`, { token, headers: setting.organization.headers("ORG_ADMIN"), ...(body && { body }) });
  const [asAuthor, asOther] = [as(author.token), as(other.token)];
  const body = () => ({ issuerId: setting.issuer.id, names: [newName()], key: { location: "server" } });
  return { ...setting, author, other, as, asAuthor, asOther, body };
}
