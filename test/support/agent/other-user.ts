import type { Result } from "#agent/report";
import type { Desired } from "#agent/server-client";
import { newAgentHost } from "./agent-host";

const NOBODY = 65_534;

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
  console.info(JSON.stringify(await agent.pass(item)));
  agent.remove();
}
