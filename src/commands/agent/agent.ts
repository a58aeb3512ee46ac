import type { Command } from "commander";
import { addRun } from "./run";

const HELP = `
Without a command it runs: certitude agent --server … --token-file … (certitude agent run --help shows the options).`;

/** Adds the agent's commands to one that has none of its own; without a subcommand the agent runs. */
function addAgentCommands(agent: Command) {
  agent.description("Install assigned certificates into this host's trust stores, and keep them there.").addHelpText("after", HELP);
  for (const add of [addRun]) add(agent).exitOverride().showHelpAfterError();
  return agent;
}

export const addAgent = (program: Command) => addAgentCommands(program.command("agent"));
