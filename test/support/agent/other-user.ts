import { writeFileSync } from "node:fs";
import type { Result } from "#agent/report";
import type { Desired } from "#agent/server-client";
import { runs } from "../pki/tls-clients";
import { newAgentHost } from "./agent-host";

const NOBODY = 65_534;

/** Stands in a config for the directory of the agent that is not root. */
export const OWN = "/its-own";

/** One pass of an agent that is not root, in a process of its own. */
export const passAsNobody = async (item: Desired): Promise<Result> => (await conductAsNobody(item, ["true"])).result;

/** The same, and whether that user's program then succeeds. */
export async function conductAsNobody(item: Desired, argv: string[]): Promise<{ result: Result; isGood: boolean }> {
  const child = Bun.spawn([process.execPath, import.meta.path], { stdin: new Blob([JSON.stringify({ item, argv })]), stdout: "pipe", stderr: "pipe" });
  const [answer, differences, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  if (code !== 0) throw new Error(differences);
  return JSON.parse(answer);
}

if (import.meta.main) {
  const { item, argv } = await Bun.stdin.json();
  process.setgroups?.([]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
  const agent = await newAgentHost();
  writeFileSync(agent.pathOf("password"), "changeit\n", { mode: 0o600 });
  const result = await agent.pass(JSON.parse(JSON.stringify(item).replaceAll(OWN, agent.directory)));
  console.info(JSON.stringify({ result, isGood: (await runs(argv, { HOME: agent.host.home })).isGood }));
  agent.remove();
}
