import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Call } from "./content";

/** Where the demo's own agent has its token, its state and the bundle that it keeps. */
const placesIn = (dataDir: string) => {
  const directory = join(dataDir, "demo");
  return { directory, token: join(directory, "agent.token"), state: join(directory, "agent"), bundle: join(directory, "ca-bundle.pem") };
};

/** Enrols the machine of the demo, and assigns it an anchor for a bundle below the data directory. */
export async function addThisMachine(inOrganization: Call, certificateId: string, dataDir: string) {
  const { directory, token: file, bundle } = placesIn(dataDir);
  const { id, token } = await inOrganization("POST", "/agents", { name: "this-machine", labels: { env: "demo" } });
  const config = { trustStorePath: bundle, alias: "demo-root" };
  await inOrganization("POST", `/agents/${id}/assignments`, { applicationId: "demo-shop", certificateId, trustStoreType: "pem_ca_bundle", config });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
}

/** What to paste to see the agent work, as text for a person. */
export function describeAgent(base: string, dataDir: string) {
  const { token, state, bundle } = placesIn(dataDir);
  if (!existsSync(token)) return "";
  const program = Bun.main.startsWith("/$bunfs/") ? process.execPath : `${process.execPath} ${Bun.main}`;
  return `
  Let the agent keep a trusted root in ${bundle}; spoil that file, and run it again:
  ${program} agent --server ${base} --token-file ${token} --state-dir ${state} --once
`;
}
