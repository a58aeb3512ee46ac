import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { type Command, Option } from "commander";
import { writeAtomically } from "#agent/host/files";
import { renderUnit, UNIT_DIRECTORY, UNIT_NAME } from "#agent/unit";
import { CommandError } from "../command-error";
import { type ConnectionFiles, readConnection } from "./connection";
import { addRunOptions, callOf, MIB } from "./options";
import { checkRunArguments } from "./run";

type Options = ConnectionFiles & {
  server?: string;
  stateDir: string;
  interval: number;
  maxAnswer?: number;
  policy?: string;
  user?: string;
  write: string[];
  root?: string;
  now?: boolean;
  print?: boolean;
};

const HELP = `
It writes ${join(UNIT_DIRECTORY, UNIT_NAME)} and makes the state directory, and changes nothing that is as it should be. What stands
after -- is handed to the agent as it is: certitude agent install -- --dry-run

The service sees the file system read-only but for /etc, /usr/local/share/ca-certificates, /var/log, /run, its own directory
and what --write adds, and has few of root's capabilities. With --user it has none at all, and writes what --write names.

Exit codes: 0 done, 1 it could not be done, 2 wrong usage.`;

export const addInstall = (agent: Command) =>
  addRunOptions(agent.command("install").description("Make the agent a service of this host (systemd), with as few rights as it needs."))
    .option("--policy <file>", "what this host permits, where that is not the usual file")
    .option("--user <name>", "run as this account instead of root; it is made where it is missing")
    .addOption(
      new Option("--write <path>", "a directory that the service may write, besides the usual ones; may be repeated").argParser(collect).default([], "none"),
    )
    .option("--root <path>", "write below this directory instead, for an image")
    .option("--now", "enable and start the service; one that runs is restarted where its unit has changed")
    .option("--print", "only print the unit")
    .argument("[run-options...]")
    .addHelpText("after", HELP)
    .action(install);

const collect = (path: string, paths: string[]) => [...paths, absolute(path, "--write")];

async function install(more: string[], options: Options, command: Command) {
  const { stateDir, user, write, root = "/", now = false, print = false, maxAnswer } = options;
  refuseContradictions(options);
  checkRunArguments(more, command.parent);
  readConnection(options, Bun.env);
  const stateDirectory = absolute(stateDir, "--state-dir");
  const unit = renderUnit({ command: [...programOf(command), ...argumentsOf(options), ...more], stateDirectory, user, writable: write, maxAnswer });
  if (print) return console.info(unit.trimEnd());
  if (root === "/") refuseMissing(options, stateDirectory);
  if (process.getuid?.() !== 0) throw new CommandError("Only root can install a service: run it with sudo, or look at it with --print.");
  const owner = user ? await ensureUser(user, stateDirectory) : { uid: 0, gid: 0 };
  refuseClosedToken(options, owner.uid);
  await ensureStateDirectory(join(root, stateDirectory), owner);
  const isNew = await ensureUnit(join(root, UNIT_DIRECTORY), unit);
  if (root === "/") await start(isNew, now);
}

function refuseContradictions({ user, root = "/", now = false }: Options) {
  if (root !== "/" && (now || user)) throw new CommandError("--root is for an image, in which nothing runs: leave --now and --user away.", 2);
  if (user !== undefined && !isAccount(user)) throw new CommandError("--user must be the name of an account other than root.", 2);
}

/** A service that knows no server, or is to write where nothing is, would fail at its start. */
function refuseMissing({ server, tokenFile, write }: Options, stateDirectory: string) {
  for (const each of write) if (!existsSync(each)) throw new CommandError(`--write ${each} does not exist. Make it first: mkdir -p ${each}`, 2);
  if ((server && tokenFile) || existsSync(join(stateDirectory, "identity.json"))) return;
  throw new CommandError("This host has not joined a server. Join first (agent join --help), or give --server and --token-file.", 2);
}

function refuseClosedToken({ user, tokenFile }: Options, uid: number) {
  if (tokenFile && user && statSync(tokenFile).uid !== uid) throw new CommandError(`${user} cannot read the token: chown ${user} ${resolve(tokenFile)}`);
}

/** Writes the unit where it is not as it should be. Returns whether it was not. */
async function ensureUnit(directory: string, unit: string) {
  const path = join(directory, UNIT_NAME);
  const isNew = !existsSync(path) || readFileSync(path, "utf8") !== unit;
  if (isNew) {
    mkdirSync(directory, { recursive: true });
    await writeAtomically(path, unit, { mode: 0o644, uid: 0, gid: 0 });
  }
  console.info(`${path} ${isNew ? "written" : "is as it should be"}.`);
  return isNew;
}

/** The agent's own program, by which the service is started: the executable, or Bun with the script where it runs from source. */
function programOf(command: Command) {
  const program = Bun.main.startsWith("/$bunfs/") ? [process.execPath] : [process.execPath, Bun.main];
  for (const path of program) {
    const { uid, mode } = statSync(path);
    if (uid !== 0 || mode & 0o022)
      throw new CommandError(
        `Others than root may change ${path}, which would run as a service. Put it to /usr/local/bin: install -m 755 ${path} /usr/local/bin`,
      );
  }
  return [...program, ...callOf(command.parent).split(" ").slice(1), "run"];
}

function argumentsOf({ server, tokenFile, caFile, clientCert, clientKey, stateDir, policy, interval, maxAnswer }: Options) {
  const files = {
    "--token-file": tokenFile,
    "--ca-file": caFile,
    "--client-cert": clientCert,
    "--client-key": clientKey,
    "--state-dir": stateDir,
    "--policy": policy,
  };
  const named = Object.entries(files).flatMap(([name, path]) => (path === undefined ? [] : [name, resolve(path)]));
  const limit = maxAnswer === undefined ? [] : ["--max-answer", `${maxAnswer / MIB}MiB`];
  return [...(server ? ["--server", server] : []), ...named, ...limit, "--interval", `${interval}s`];
}

function absolute(path: string, option: string) {
  if (!path.startsWith("/") || /[\n\r]/.test(path)) throw new CommandError(`${option} must be an absolute path.`, 2);
  return path;
}

const isAccount = (name: string) => /^[a-z_][a-z0-9_-]{0,30}$/.test(name) && name !== "root";

/** A system account that can do nothing but run the agent. */
async function ensureUser(name: string, home: string) {
  const find = async () => (await Bun.$`getent passwd ${name}`.quiet().nothrow()).stdout.toString().split(":");
  if ((await find()).length < 4) await system("useradd", "--system", "--no-create-home", "--home-dir", home, "--shell", "/usr/sbin/nologin", name);
  const [, , uid, gid] = await find();
  return { uid: Number(uid), gid: Number(gid) };
}

async function ensureStateDirectory(path: string, { uid, gid }: { uid: number; gid: number }) {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const found = statSync(path);
  if (found.uid === uid && !(found.mode & 0o077)) return;
  await system("chown", "-R", "-h", `${uid}:${gid}`, path);
  await system("chmod", "700", path);
}

async function start(isNew: boolean, now: boolean) {
  if (!existsSync("/run/systemd/system")) {
    if (now) throw new CommandError("systemd does not run here, so that the service could not be started.");
    return console.info("systemd does not run here: the service starts with the next boot, once it is enabled (systemctl enable certitude-agent).");
  }
  if (isNew) await system("systemctl", "daemon-reload");
  if (!now) return console.info("Start it: systemctl enable --now certitude-agent");
  await system("systemctl", "enable", "certitude-agent");
  await system("systemctl", isNew ? "restart" : "start", "certitude-agent");
  console.info("certitude-agent is enabled and runs. Its log: journalctl -u certitude-agent");
}

async function system(...argv: string[]) {
  const { exitCode, stderr } = await Bun.$`${argv}`.quiet().nothrow();
  if (exitCode !== 0) throw new CommandError(`${argv.join(" ")} ended with exit code ${exitCode}: ${stderr.toString().trim()}`);
}
