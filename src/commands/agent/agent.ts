import type { Command } from "commander";
import { addInstall } from "./install";
import { addJoin } from "./join";
import { addPolicy } from "./policy";
import { addRemove } from "./remove";
import { addRun } from "./run";
import { addStatus } from "./status";

/** Adds the agent's commands to one that has none of its own; without a subcommand the agent runs. */
export function addAgentCommands(agent: Command) {
  const name = agent.parent ? `${agent.parent.name()} ${agent.name()}` : agent.name();
  agent
    .description("Install assigned certificates into this host's trust stores, and keep them there.")
    .addHelpText(
      "after",
      `\nWithout a command it runs: ${name}, or ${name} --server … --token-file … where the host has not joined (${name} run --help shows the options).`,
    );
  for (const add of [addRun, addJoin, addPolicy, addInstall, addStatus, addRemove]) add(agent).exitOverride().showHelpAfterError();
  return agent;
}

export const addAgent = (program: Command) => addAgentCommands(program.command("agent"));
