import { anAssignment, newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";

export const PATH = "/agent/assignments";
export const SERVER = { trustStoreType: "nginx_tls", materialType: "server_certificate", config: { trustStorePath: "/etc/nginx/tls" } };

/** An agent that nothing is assigned to yet, and what one does with it. */
export async function newPoller() {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const assign = async (certificateId: string, rest: object = {}) =>
    (await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, rest) })).body;
  const update = (id: string, body: object) => organization.admin("PATCH", `${agent.assignments}/${id}`, { body });
  const ask = (known?: string) => agent.call("GET", PATH, known === undefined ? {} : { headers: { "if-none-match": known } });
  const tag = async () => (await ask()).headers.get("etag") ?? "";
  return { organization, agent, assign, update, ask, tag };
}
