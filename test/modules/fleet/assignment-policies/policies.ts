import { newAgent } from "../../../support/server/agents";
import { desired, newFleet, runPolicyJob } from "../../../support/server/fleet";

export const PATH = "/assignment-policies";
export const TYPE = "linux_update_ca_certificates";

export const aPolicy = (certificateId: string, rest: object = {}) => ({
  selector: "env=prod",
  applicationId: "payments",
  certificateId,
  trustStoreType: TYPE,
  config: { alias: "root" },
  ...rest,
});

/** Two agents of production and one of development, two roots, and what one does with policies. */
export async function withPolicies() {
  const fleet = await newFleet({ env: "prod" }, { env: "prod" }, { env: "dev" });
  const { organization } = fleet;
  const [root = "", other = ""] = await fleet.importRoots("Example Root", "Other Root");
  const create = (body: object) => organization.admin("POST", PATH, { body });
  async function make(body: object) {
    const { status, body: made } = await create(body);
    if (status !== 201) throw new Error(`the policy was answered ${status}: ${JSON.stringify(made)}`);
    return made;
  }
  const read = async (id: string) => (await organization.member("GET", `${PATH}/${id}`)).body;
  const patch = (id: string, body: object, headers: Record<string, string> = {}) => organization.admin("PATCH", `${PATH}/${id}`, { body, headers });
  const remove = (id: string) => organization.admin("DELETE", `${PATH}/${id}`);
  /** What each agent must install: its certificates, the oldest assignment first. */
  const installed = (...agents: Parameters<typeof desired>[0][]) =>
    Promise.all((agents.length > 0 ? agents : fleet.agents).map(async (agent) => (await desired(agent)).map((each) => each.certificateId)));
  /** Gives an agent other labels, and lets the server act on that. */
  async function relabel(agent: { id: string }, set: Record<string, string>) {
    const { status } = await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { agentIds: [agent.id], set } });
    if (status !== 200) throw new Error(`the labels were answered ${status}`);
    await runPolicyJob();
  }
  async function enrol(labels: Record<string, string>) {
    const agent = await newAgent(organization, { labels });
    await runPolicyJob();
    return agent;
  }
  return { ...fleet, root, other, create, make, read, patch, remove, installed, relabel, enrol };
}
