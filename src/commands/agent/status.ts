import { existsSync } from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { thisHost } from "#agent/host/host";
import { openKeptEntries } from "#agent/kept-entries";
import { type HostPolicy, POLICY_FILE, policyReader } from "#agent/policy/host-policy";
import { isInUse, openState } from "#agent/state";
import { type Challenge, challengesOf, type Standing, standingsOf } from "#agent/status";
import { createLog } from "#log/log";
import { printable, printableJson } from "#text/printable";
import { CommandError } from "../command-error";
import { callOf, STATE_DIRECTORY } from "./options";

type Options = { stateDir: string; policy?: string; json?: boolean };

const HELP = `
It reads the agent's own directory and looks into each store that the host's policy permits; it asks no server, and changes nothing.

  holds     as desired                    differs   not as desired, with why
  refused   not permitted by the policy   pending   not tried yet
  removing  desired no more, but there    kept      its certificate is revoked, but config.removeOnRevoke is false

Challenges of CAs that this host answers while their orders last come last; one that it cannot answer comes with why.

Exit codes: 0 everything holds, 1 something does not, or the policy cannot be used, 2 wrong usage.`;

export const addStatus = (agent: Command) =>
  agent
    .command("status")
    .description("Show what holds on this host, what does not, and why.")
    .option("--state-dir <path>", "the agent's own directory", STATE_DIRECTORY)
    .option("--policy <file>", "what this host permits; without it, the file that the agent ran with last")
    .option("--json", "as JSON, for a program")
    .addHelpText("after", HELP)
    .action(status);

async function status({ stateDir, policy: given, json = false }: Options, command: Command) {
  if (!existsSync(stateDir)) throw new CommandError(`${stateDir} does not exist: no agent has run here, or it has another --state-dir.`);
  const state = await openState(stateDir, { isReadOnly: true });
  const file = resolve(given ?? (await state.readPolicyPlace()) ?? POLICY_FILE);
  const policy = await policyReader({ file, command: callOf(command.parent) }, createLog("silent"))();
  const host = thisHost(Bun.env);
  await openKeptEntries(stateDir, host.entries);
  const assignments = await standingsOf(state, { host, policy });
  const reportsWaiting = [...state.records.values()].reduce((sum, { reports }) => sum + reports.length, 0);
  const isRunning = isInUse(stateDir);
  const seen = { isRunning, reportsWaiting, policy: soundnessOf(file, policy), assignments, challenges: challengesOf(state) };
  console.info(json ? printableJson(seen) : render(seen));
  if (policy.fault) throw new CommandError("The policy of this host cannot be used.");
  const bad = assignments.filter(({ state }) => state !== "holds" && state !== "kept").length;
  if (bad > 0) throw new CommandError(`${bad} of ${assignments.length} ${bad === 1 ? "does" : "do"} not hold.`);
}

/** Which policy counts, and whether it can be used. */
const soundnessOf = (file: string, { fault }: HostPolicy) => ({ file, exists: existsSync(file), fault: fault ?? null });

type Seen = { isRunning: boolean; reportsWaiting: number; policy: ReturnType<typeof soundnessOf>; assignments: Standing[]; challenges: Challenge[] };

function render({ isRunning, reportsWaiting, policy, assignments, challenges }: Seen) {
  const rows = assignments.map(({ state, store, alias, commonName, why, retryAt }) => ({
    cells: [state, store, alias ?? "", commonName ?? ""].map(printable),
    why: why && `${why}${retryAt ? ` (next attempt ${retryAt})` : ""}`,
  }));
  const widths = [0, 1, 2].map((column) => Math.max(0, ...rows.map(({ cells }) => cells[column]?.length ?? 0)));
  const lines = rows.flatMap(({ cells, why }) => {
    const line = cells.map((each, column) => each.padEnd(widths[column] ?? 0)).join("  ");
    return [line.trimEnd(), ...(why ? [`  ${printable(why)}`] : [])];
  });
  const waiting =
    reportsWaiting === 0 ? "every report is delivered" : `${reportsWaiting} ${reportsWaiting === 1 ? "report waits" : "reports wait"} for the server`;
  return [
    `The agent ${isRunning ? "runs" : "does not run"}; ${waiting}.`,
    describePolicy(policy),
    ...(lines.length > 0 ? lines : ["Nothing is assigned to this host."]),
    ...challenges.map(describe).map(printable),
  ].join("\n");
}

function describePolicy({ file, exists, fault }: Seen["policy"]) {
  if (fault !== null) return `The policy cannot be used, so that nothing is permitted: ${fault}`;
  return `The policy is ${file}, ${exists ? "which is in order" : "which does not exist: what needs no policy is permitted"} (policy show).`;
}

const describe = ({ state, file, since, why }: Challenge) =>
  state === "answered"
    ? `answers a challenge of a CA since ${since}: ${file ?? "on a port of its own"}`
    : `does not answer a challenge of a CA: ${why ?? "not tried yet"}`;
