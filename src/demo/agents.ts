import { existsSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Client, Json } from "./client";

const APPLICATION = "demo-shop";
const ALIAS = "demo-root";
const THIS_MACHINE = "this-machine";
/** The demo's agents with the state that each reports; the last one has not reported yet. */
const AGENTS = [
  { name: "web-1", labels: { env: "prod", tier: "web", zone: "a" }, state: "installed" },
  { name: "web-2", labels: { env: "prod", tier: "web", zone: "b" }, state: "failed", message: "update-ca-certificates is not installed" },
  { name: "db-1", labels: { env: "prod", tier: "db", zone: "a" }, state: "drifted" },
  { name: "staging-1", labels: { env: "staging", tier: "web", zone: "a" }, state: null },
];

/** Returns the paths of the demo's own agent: token, state, policy, and the bundle that it keeps. */
export const placesIn = (dataDir: string) => {
  const directory = join(dataDir, "demo");
  return {
    directory,
    token: join(directory, "agent.token"),
    state: join(directory, "agent"),
    policy: join(directory, "policy.json"),
    bundle: join(directory, "ca-bundle.pem"),
  };
};

/** Agents in several states, a root assigned to each. */
export async function addAgents(client: Client, roots: string[]) {
  for (const [index, { state, message, ...agent }] of AGENTS.entries()) {
    const certificateId = roots[index] ?? "";
    if (await isDeployed(client, certificateId, agent.name, state)) continue;
    const { token, assignmentId } = await enrol(client, agent, { certificateId, trustStoreType: "linux_update_ca_certificates", config: { alias: ALIAS } });
    if (!state) continue;
    const reports = [{ assignmentId, state, ...(message && { message }) }];
    await client.call("POST", "/agent/reports", { reports }, { authorization: `Bearer ${token}` });
  }
}

/** Enrols the machine of the demo, and assigns it a root for a bundle below the data directory. */
export async function addThisMachine(client: Client, certificateId: string, dataDir: string) {
  const { directory, token: file, policy, bundle } = placesIn(dataDir);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(policy, `${JSON.stringify({ files: [join(realpathSync(directory), basename(bundle))] }, null, 2)}\n`, { mode: 0o600 });
  if (existsSync(file) && (await isDeployed(client, certificateId, THIS_MACHINE))) return;
  const config = { trustStorePath: bundle, alias: ALIAS };
  const { token } = await enrol(client, { name: THIS_MACHINE, labels: { env: "demo" } }, { certificateId, trustStoreType: "pem_ca_bundle", config });
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
}

async function isDeployed({ list }: Client, certificateId: string, agentName: string, state?: string | null) {
  const deployments = await list(`certificates/${certificateId}/deployments`);
  return deployments.some((each) => each.agentName === agentName && (state === undefined || each.state === state));
}

/**
 * Creates an agent with one assignment. An agent of this name that an interrupted start left is removed first: its token was
 * shown once.
 */
async function enrol({ call, list }: Client, agent: { name: string; labels: Record<string, string> }, assignment: Json) {
  for (const { id, name } of await list("agents?limit=100")) if (name === agent.name) await call("DELETE", `agents/${id}`);
  const { id, token } = await call("POST", "agents", agent);
  const { id: assignmentId } = await call("POST", `agents/${id}/assignments`, { applicationId: APPLICATION, ...assignment });
  return { token, assignmentId };
}
