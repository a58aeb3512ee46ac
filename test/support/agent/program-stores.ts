import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Desired } from "#agent/server-client";
import type { AgentHost } from "../pki/tls-clients";
import { newAgentHost } from "./agent-host";

/** An agent with these variables, and a place of its own for the temporary files that it hands to tools. */
export const newToolHost = (variables: Record<string, string>, directory?: string) =>
  newAgentHost((host, place) => {
    mkdirSync(join(place, "tmp"), { recursive: true });
    return { ...host, environment: { ...host.environment, TMPDIR: join(place, "tmp"), ...variables } };
  }, directory);

/** The temporary files that are left. */
export const leftIn = (agent: AgentHost) => readdirSync(agent.pathOf("tmp"));

export const installed = ({ fingerprintSha256 }: Desired) => ({ state: "installed" as const, observedFingerprint: fingerprintSha256 });

/** The same host for a pass, but with no tool on its PATH. */
export const withoutTools = ({ host }: AgentHost) => ({ host: { ...host, environment: { ...host.environment, PATH: "/nonexistent" } } });

/** One pass of the agent in a process of its own, with this script of sh in place of a tool. Answers how the process ended. */
export async function passInChild(agent: AgentHost, item: Desired, tool: string, script: string) {
  mkdirSync(agent.pathOf("bin"));
  writeFileSync(agent.pathOf("bin", tool), `#!/bin/sh\n${script}\n`);
  chmodSync(agent.pathOf("bin", tool), 0o755);
  agent.state.close();
  const pass = `
    import { newAgentHost } from ${JSON.stringify(join(import.meta.dir, "agent-host.ts"))};
    const [directory, environment, item] = process.argv.slice(1).map((each, index) => (index === 0 ? each : JSON.parse(each)));
    const agent = await newAgentHost((host) => ({ ...host, environment }), directory);
    await agent.pass(item);`;
  const environment = { ...agent.host.environment, PATH: `${agent.pathOf("bin")}:${Bun.env.PATH}` };
  const child = Bun.spawn([process.execPath, "-e", pass, agent.directory, JSON.stringify(environment), JSON.stringify(item)], { stderr: "inherit" });
  const code = await child.exited;
  return { code, signal: child.signalCode };
}
