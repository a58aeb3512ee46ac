import { Command } from "commander";
import { version } from "../../package.json";
import { addAgentCommands } from "./agent/agent";
import { runCommand } from "./run-command";

/** The agent as an executable of its own, with the commands of `certitude agent`; it holds neither the database nor the server. */
export const run = (argv: string[]) => {
  const program = addAgentCommands(new Command("certitude-agent"));
  return runCommand(program.version(version).exitOverride().showHelpAfterError(), argv);
};
