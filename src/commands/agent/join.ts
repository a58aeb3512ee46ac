import { readdir, rmdir } from "node:fs/promises";
import { hostname } from "node:os";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { missingDirectories, removeFile } from "#agent/host/files";
import { describeHost } from "#agent/host/host";
import { openIdentityFiles } from "#agent/identity/identity-files";
import { joinServer } from "#agent/identity/join";
import { openState } from "#agent/state";
import { createTransport } from "#agent/transport";
import { printable } from "#text/printable";
import { version } from "../../../package.json";
import { CommandError } from "../command-error";
import { type ConnectionFiles, readConnection } from "./connection";
import { addConnectionFiles, readSecret, readServer, readText, STATE_DIRECTORY } from "./options";

type Options = ConnectionFiles & { server: string; token?: string; stateDir: string; name?: string };

const HELP = `
The host makes a key pair, which never leaves its state directory, and gets a credential of a day that its agent renews
by itself; each request is signed with the key, so that a copied credential opens nothing. It also remembers the key that
the server signs desired states with, and takes no others from then on.

The token is a join token (caj_…), or the long-lived token (cag_…) of an agent that changes over: that token ends with it.
On the command line other users of this host may see it: --token-file hides it, and - reads it from standard input.

Stop the agent first where one runs with this state directory. It then runs without --server and --token-file.`;

export const addJoin = (agent: Command) =>
  addConnectionFiles(
    agent
      .command("join")
      .description("Make this host an agent of a server, by a join token.")
      .requiredOption("--server <url>", "the server: https, or http on this machine", readServer)
      .option("--token <token>", "the join token")
      .option("--token-file <path>", "file with it, or - for standard input"),
  )
    .option("--state-dir <path>", "the agent's own directory", STATE_DIRECTORY)
    .option("--name <name>", "the agent's name, where it shall not be the host's")
    .addHelpText("after", HELP)
    .action(joinHost);

async function joinHost({ server, token: given, tokenFile, stateDir, name, ...files }: Options) {
  const token = readJoinToken(given, tokenFile);
  const connection = readConnection(files, Bun.env);
  const made = await missingDirectories(resolve(stateDir));
  const state = await openState(stateDir);
  try {
    const send = createTransport({ server, connection: () => connection, environment: Bun.env, signal: new AbortController().signal });
    const facts = await describeHost(hostname(), version);
    const { agentId, organizationId, name: known } = await joinServer({ server, token, name, facts }, openIdentityFiles(stateDir), send);
    console.info(
      printable(`This host is the agent ${known} (${agentId}) of the organization ${organizationId}. Its agent runs with --state-dir ${stateDir} alone.`),
    );
  } catch (error) {
    state.close();
    await removeEmpty(made);
    throw error;
  }
  state.close();
}

/**
 * Removes the directories that were made for nothing. What holds a key that the server may know stays: `joining.json` is asked
 * for again by the next join.
 */
async function removeEmpty(made: string[]) {
  const own = made.at(-1);
  if (own === undefined || (await readdir(own)).some((name) => name !== "assignments" && name !== "lock")) return;
  await removeFile(join(own, "lock"));
  for (const each of [join(own, "assignments"), ...made.toReversed()]) await rmdir(each);
}

function readJoinToken(given: string | undefined, file: string | undefined) {
  if ((given === undefined) === (file === undefined)) throw new CommandError("Give either --token or --token-file.", 2);
  const read = (path: string) => (path === "-" ? readText("/dev/stdin", "--token-file") : readSecret(path));
  const token = (given ?? read(file ?? "")).trim();
  if (!/^ca[jg]_[\w-]{43}$/.test(token))
    throw new CommandError("This is no join token, which begins with caj_, and no agent's token, which begins with cag_.", 2);
  return token;
}
