import { writeFileSync } from "node:fs";
import type { Result } from "#agent/report";
import type { Desired } from "#agent/server-client";
import { newAgentHost } from "./agent-host";

const NOBODY = 65_534;

/** Stands in a config for the directory of the agent that is not root. */
export const OWN = "/its-own";

/** One pass of an agent that is not root, in a process of its own. */
export async function passAsNobody(item: Desired): Promise<Result> {
  const child = Bun.spawn([process.execPath, import.meta.path], { stdin: new Blob([JSON.stringify(item)]), stdout: "pipe", stderr: "pipe" });
  const [answer, differences, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(differences);
  return JSON.parse(answer);
}

if (import.meta.main) {
  const item = await Bun.stdin.json();
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
  const agent = await newAgentHost();
  writeFileSync(agent.pathOf("password"), "changeit\n", { mode: 0o600 });
  console.info(JSON.stringify(await agent.pass(JSON.parse(JSON.stringify(item).replaceAll(OWN, agent.directory)))));
  agent.remove();
}
