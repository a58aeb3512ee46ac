import { existsSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { type Cleaned, isLeft, removeEverything } from "#agent/clean";
import { unmarked } from "#agent/host/foreign";
import { type Host, thisHost } from "#agent/host/host";
import { type Identity, openIdentityFiles } from "#agent/identity/identity-files";
import { POLICY_FILE, policyReader } from "#agent/policy/host-policy";
import { type Purged, purge } from "#agent/purge";
import { openState } from "#agent/state";
import { UNIT_DIRECTORY, UNIT_NAME } from "#agent/unit";
import { createLog } from "#log/log";
import { terminalLog } from "#log/terminal";
import { printable, printableJson } from "#text/printable";
import { CommandError } from "../command-error";
import { callOf, STATE_DIRECTORY } from "./options";

type Options = { all?: boolean; purge?: boolean; stateDir: string; policy: string; json?: boolean };

const HELP = `
It goes by the records in the agent's own directory, and gives back what was there before. Stop the agent first; the server
is not asked, and gets no report: delete the agent there too, or its assignments come back with the next one.

With --purge the agent's own things go too, once all that it installed is gone: the service and its unit, the metrics file that the
unit names, the host's policy, and the state directory with the host's identity, keys and records. What is not the agent's stays, and
is named: programs in /etc/certitude-agent/hooks.d, this program, the account of install --user.

Exit codes: 0 everything is gone, 1 something could not be removed, 2 wrong usage.`;

export const addRemove = (agent: Command) =>
  agent
    .command("remove")
    .description("Take away what the agent installed, on a host whose agent is to go or is gone.")
    .option("--all", "everything: there is no other choice, and nothing goes without it")
    .option("--purge", "the agent's own things too: service, policy, identity and state")
    .option("--state-dir <path>", "the agent's own directory", STATE_DIRECTORY)
    .option("--policy <file>", "what this host permits (see agent policy --help)", POLICY_FILE)
    .option("--json", "as JSON, for a program")
    .addHelpText("after", HELP)
    .action(remove);

async function remove({ all = false, purge: isPurge = false, stateDir, policy, json = false }: Options, command: Command) {
  if (!all) throw new CommandError("Say --all: everything that the agent installed on this host is taken away.", 2);
  const hasState = existsSync(stateDir) && readdirSync(stateDir).length > 0;
  if (!(hasState || isPurge)) throw new CommandError(`${stateDir} does not exist: no agent has run here, or it has another --state-dir.`);
  const places = { stateDirectory: resolve(stateDir), policyFile: resolve(policy) };
  const host = thisHost(Bun.env);
  const identity = hasState ? await openIdentityFiles(stateDir, { isReadOnly: true }).readIdentity() : undefined;
  const assignments = hasState ? await clean(places, host, callOf(command.parent)) : [];
  const isClean = !assignments.some(isLeft);
  const purged = isPurge && isClean ? await purge(places, host) : [];
  if (json) console.info(printableJson(isPurge ? { assignments, purged } : assignments));
  else console.info([renderCleaned(assignments), ...(isPurge ? purged.map(renderPurged) : staying(places, host)), nextStep(identity)].join("\n"));
  refuseSuccess(assignments.filter(isLeft).length, assignments.length, isPurge ? " Nothing is purged before that, for its records are needed." : "");
  refuseSuccess(purged.filter(({ state }) => state === "failed").length, purged.length, " Run this as the user to whom they belong.");
}

/** Throws where some of it could not be removed. */
function refuseSuccess(left: number, all: number, consequence: string) {
  if (left > 0) throw new CommandError(`${left} of ${all} could not be removed.${consequence}`);
}

async function clean({ stateDirectory, policyFile }: { stateDirectory: string; policyFile: string }, host: Host, command: string) {
  const state = await openState(stateDirectory);
  try {
    const log = createLog("warn", terminalLog(process.stderr));
    const policy = await policyReader({ file: policyFile, command }, log)();
    return await removeEverything(stateDirectory, { host, policy, state, log, clock: () => new Date(), isDryRun: false, ignoreBackoff: true });
  } finally {
    state.close();
  }
}

function renderCleaned(cleaned: Cleaned[]) {
  if (cleaned.length === 0) return "The agent has installed nothing here.";
  return cleaned
    .map(({ state, store, alias, message }) => printable(`${state}  ${store}  ${alias}`.trimEnd()) + (message ? `\n  ${printable(unmarked(message))}` : ""))
    .join("\n");
}

const renderPurged = ({ path, state, why }: Purged) => printable(`${state}  ${path}`) + (why === undefined ? "" : `\n  ${printable(unmarked(why))}`);

/** Returns what stays without --purge. */
function staying({ stateDirectory, policyFile }: { stateDirectory: string; policyFile: string }, { hooks }: Host) {
  const own = [join(UNIT_DIRECTORY, UNIT_NAME), policyFile, hooks].filter(existsSync);
  return [
    `stays  ${stateDirectory}  the host's identity and keys`,
    ...own.map((path) => `stays  ${path}`),
    "With --purge these go too, but for hooks of your own.",
  ];
}

const nextStep = (identity: Identity | undefined) =>
  identity
    ? printable(`Next: delete the agent ${identity.name} (${identity.agentId}) on ${identity.server}.`)
    : "Next: delete this host's agent on the server.";
