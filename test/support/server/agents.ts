import { certificate, importInto } from "../pki/certificates";
import { call, type Wish } from "./call";
import { newOrganization, type TestOrganization } from "./people";

type Enrolment = { name?: string; labels?: Record<string, string> };

/** An agent of the organization; `call` calls with its own token. */
export async function newAgent(organization: TestOrganization, { name = "web-01", ...rest }: Enrolment = {}) {
  const { status, body } = await organization.admin("POST", "/agents", { body: { name, ...rest } });
  if (status !== 201) throw new Error(`the enrolment answered ${status}: ${JSON.stringify(body)}`);
  const { id, token } = body as { id: string; token: string };
  return {
    id,
    token,
    path: `/agents/${id}`,
    assignments: `/agents/${id}/assignments`,
    call: (method: string, path: string, wish: Wish = {}) => call(method, path, { token, ...wish }),
  };
}

/** A stored certificate that a leaf may be, with its private key. */
export async function importWithKey(organization: TestOrganization) {
  const { pem, privateKey } = certificate();
  const privateKeyPem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  const { body } = await organization.admin("POST", "/certificates", { body: { pem, privateKeyPem } });
  return { id: String(body.imported[0].id), pem, privateKeyPem };
}

/** A stored root. */
export async function importRoot(organization: TestOrganization, commonName = "Test Root") {
  const [id = ""] = await importInto(organization, certificate({ commonName, isCa: true }).pem);
  return id;
}

export const anAssignment = (certificateId: string, rest: object = {}) => ({
  applicationId: "payments",
  certificateId,
  trustStoreType: "linux_update_ca_certificates",
  ...rest,
});

/** An assignment of a root in an organization of its own, and what one does with it. */
export async function withAssignment(rest: object = { config: { alias: "root" } }) {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const certificateId = await importRoot(organization);
  const create = async (more: object) => (await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, more) })).body;
  const created = await create(rest);
  const path = `${agent.assignments}/${created.id}`;
  const update = (body: object, tag?: string) => organization.admin("PATCH", path, { body, ...(tag && { headers: { "if-match": tag } }) });
  /** As it is answered where it is made or changed. */
  async function read() {
    const { report, history, removingSince, heldSince, ...assignment } = (await organization.member("GET", path)).body;
    return assignment;
  }
  const events = async (action: string) => {
    const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
    return items.filter((each: { action: string }) => each.action === action);
  };
  return { organization, agent, certificateId, created, create, path, update, read, events };
}
