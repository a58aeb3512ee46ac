import type { Sql } from "#db/connect";
import { newAgent } from "../../../support/server/agents";
import { desired, newFleet, runPolicyJob } from "../../../support/server/fleet";
import { world } from "../../../support/server/world";

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

/** A server's certificate in PEM files. */
export const inFiles = (config: object) => ({ trustStoreType: "pem_files", materialType: "server_certificate", config });

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

/** The embedded database is one session, where no request waits for another. */
export const IS_ONE_SESSION = Bun.env.TEST_DATABASE_URL === undefined;

const countWaiting = async () =>
  (await world.sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%from agents where%'`).length;

/**
 * The statuses of requests that all wait for the agent's lock and get it in this order, each with what it has judged before. In one session,
 * each is answered before the next begins.
 */
export async function askInTurn(agent: { id: string }, asks: (() => Promise<{ status: number }>)[]) {
  const answers: Promise<{ status: number }>[] = [];
  async function askWhileHeld(tx: Sql) {
    await tx`select from agents where id = ${agent.id} for update`;
    for (const [index, ask] of asks.entries()) {
      answers.push(ask());
      while ((await countWaiting()) <= index) await Bun.sleep(20);
    }
  }
  if (IS_ONE_SESSION) for (const ask of asks) answers.push(Promise.resolve(await ask()));
  else await world.sql.begin(askWhileHeld);
  return (await Promise.all(answers)).map((each) => each.status);
}
