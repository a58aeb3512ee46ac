import { readFileSync, statSync } from "node:fs";
import { type Command, InvalidArgumentError, Option } from "commander";
import { readDuration } from "../arguments";
import { CommandError } from "../command-error";

export const STATE_DIRECTORY = "/var/lib/certitude-agent";

/** How a command is called: its name after those of the commands that it belongs to. */
export const callOf = (command: Command | null): string => (command ? `${callOf(command.parent)} ${command.name()}`.trim() : "");

const LOOPBACK = /^(localhost|127(\.\d+){3}|\[::1\])$/;

export function readServer(value: string) {
  const url = URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol)) throw new InvalidArgumentError("It must be an address such as https://certitude.example.");
  if (url.username || url.password || url.search || url.hash) throw new InvalidArgumentError("It must name a server and nothing else: no user, no ? and no #.");
  if (url.protocol === "http:" && !LOOPBACK.test(url.hostname))
    throw new InvalidArgumentError("http would show the token and private keys to the network: use https.");
  let server = value;
  while (server.endsWith("/")) server = server.slice(0, -1);
  return server;
}

/** Adds the files by which a host and its server know each other. */
export const addConnectionFiles = (command: Command) =>
  command
    .option("--ca-file <path>", "PEM of the authority that signed the server's certificate, where the system does not know it")
    .option("--client-cert <path>", "PEM of a certificate to present, where a proxy before the server asks for one")
    .option("--client-key <path>", "PEM of its private key");

/** Adds what an agent runs with, now or as a service. */
export const addRunOptions = (command: Command) =>
  addConnectionFiles(
    command
      .option("--server <url>", "the server: https, or http on this machine; where the host has joined, that one", readServer)
      .option("--token-file <path>", "file with the agent's long-lived token, where the host has not joined"),
  )
    .option("--state-dir <path>", "the agent's own directory", STATE_DIRECTORY)
    .addOption(
      new Option("--max-answer <size>", "what is read of an answer at most: 16MiB (default: 8MiB, or twice what this host had last, up to 32MiB)").argParser(
        readSize,
      ),
    )
    .addOption(new Option("--interval <duration>", "time between two passes, at most a day: 30s, 5m, 1h").argParser(readInterval).default(60, "60s"));

export const MIB = 1024 * 1024;

/** Returns the bytes of a size such as 16MiB. */
function readSize(value: string) {
  const [, mib] = /^([1-9]\d{0,3})MiB$/.exec(value) ?? [];
  if (mib === undefined) throw new InvalidArgumentError("It must be a size such as 16MiB.");
  return Number(mib) * MIB;
}

function readInterval(value: string) {
  const seconds = readDuration(value);
  if (seconds > 86_400) throw new InvalidArgumentError("It must be at most a day: 24h.");
  return seconds;
}

/** Returns the text of a file that the agent's user alone may read. */
export function readSecret(path: string) {
  const text = readText(path, "--token-file");
  if (statSync(path).mode & 0o077) throw new CommandError(`Others may read the token in ${path}: chmod 600 ${path}`, 2);
  return text;
}

export function readToken(path: string) {
  const token = readSecret(path).trim();
  if (!/^cag_[\w-]{43}$/.test(token)) throw new CommandError(`${path} does not hold an agent's token; it begins with cag_.`, 2);
  return token;
}

export function readText(path: string, option: string) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new CommandError(`${option} cannot be read: ${(error as Error).message}`, 2);
  }
}
