import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { type Cleaned, isLeft, removeEverything } from "#agent/clean";
import { thisHost } from "#agent/host/host";
import { POLICY_FILE, policyReader } from "#agent/policy/host-policy";
import { openState } from "#agent/state";
import { createLog } from "#log";
import { terminalLog } from "#log-terminal";
import { CommandError } from "../command-error";
import { callOf, STATE_DIRECTORY } from "./options";

type Options = { all?: boolean; stateDir: string; policy: string; json?: boolean };

const HELP = `
It goes by the records in the agent's own directory, and gives back what was there before. Stop the agent first; the server
is not asked, and not told: delete the agent there too, or its assignments come back with the next one.

Exit codes: 0 everything is gone, 1 something could not be removed, 2 wrong usage.`;

export const addRemove = (agent: Command) =>
  agent
    .command("remove")
    .description("Take away what the agent installed, on a host whose agent is to go or is gone.")
    .option("--all", "everything: there is no other choice, and nothing goes without it")
    .option("--state-dir <path>", "the agent's own directory", STATE_DIRECTORY)
    .option("--policy <file>", "what this host permits (see agent policy --help)", POLICY_FILE)
    .option("--json", "as JSON, for a program")
    .addHelpText("after", HELP)
    .action(remove);

async function remove({ all = false, stateDir, policy: file, json = false }: Options, command: Command) {
  if (!all) throw new CommandError("Say --all: everything that the agent installed on this host is taken away.", 2);
  if (!existsSync(stateDir)) throw new CommandError(`${stateDir} does not exist: no agent has run here, or it has another --state-dir.`);
  const state = await openState(stateDir);
  try {
    const log = createLog("warn", terminalLog(process.stderr));
    const policy = await policyReader({ file: resolve(file), command: callOf(command.parent) }, log)();
    const work = { host: thisHost(Bun.env), policy, state, log, clock: () => new Date(), isDryRun: false, ignoreBackoff: true };
    const cleaned = await removeEverything(stateDir, work);
    console.info(json ? JSON.stringify(cleaned, null, 2) : render(cleaned));
    const left = cleaned.filter(isLeft).length;
    if (left > 0) throw new CommandError(`${left} of ${cleaned.length} could not be removed.`);
  } finally {
    state.close();
  }
}

function render(cleaned: Cleaned[]) {
  if (cleaned.length === 0) return "The agent has installed nothing here.";
  return cleaned.map(({ state, store, alias, message }) => `${state}  ${store}  ${alias}`.trimEnd() + (message ? `\n  ${message}` : "")).join("\n");
}
