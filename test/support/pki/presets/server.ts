import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { runs } from "../tls-clients";
import { startListening } from "../tls-servers";

/** The place of a preset's real server: its own directory, and that of the files which the agent writes. */
export type Place = { directory: string; tls: string; port: number; spare: number };

/** A server of Debian with a configuration of its own. */
export type PresetServer = {
  preset: string;
  /** The account to which the process belongs from its start; root where there is none. */
  user?: string;
  /** Writes the configuration. Returns how the server is started, and what its unit's command does to this one, and what ends with it. */
  prepare: (place: Place) => { argv: string[]; environment?: Record<string, string>; reload: string[]; end?: string[] };
  /** The command's line in Debian's unit, or in the script that init runs. */
  unit?: { file: string; says: RegExp };
  /** The server's name in the config. */
  verified?: { verifyServerName: string };
  /** How openssl asks for TLS. */
  asking?: string[];
};

const idOf = (flag: string, name: string) => Number(Bun.spawnSync(["id", flag, name]).stdout.toString());
export const accountOf = (name: string) => ({ uid: idOf("-u", name), gid: idOf("-g", name) });

/** The usual names of certificate and key. */
export const pair = (tls: string) => [`${tls}/tls.crt`, `${tls}/tls.key`] as const;
export const HUP = ["signal", "HUP"];
export const systemd = (unit: string, says: RegExp, root = "") => ({ file: `${root}/lib/systemd/system/${unit}.service`, says });

/** Runs what is to be restarted, again each time that it ends; `pid` names its process. */
const SUPERVISOR = `#!/bin/sh
pid=$1; shift
trap 'kill $child; wait $child; exit 0' TERM
while :; do "$@" & child=$!; echo $child >"$pid"; wait $child; done
`;

/** The server under a supervisor, and the command that restarts it. */
export function restarted({ directory }: Place, argv: string[]) {
  const [script, pid] = [join(directory, "supervisor"), join(directory, "supervised")];
  writeFileSync(script, SUPERVISOR);
  chmodSync(script, 0o755);
  return { argv: [script, pid, ...argv], reload: ["sh", "-c", `kill $(cat ${pid})`] };
}

export const write = ({ directory }: Place, name: string, text: string) => {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
};

/** Makes a directory in the server's own one, for an account to write in. */
export function open({ directory }: Place, name: string, mode = 0o777) {
  const path = join(directory, name);
  mkdirSync(path);
  chmodSync(path, mode);
  return path;
}

/** Starts the server, which presents what lies in its directory. `HUP` stands for a signal to its process. */
export async function startPreset({ prepare, user }: PresetServer, place: Place) {
  const { argv, environment, reload, end } = prepare(place);
  const account = user === undefined ? {} : { user: accountOf(user) };
  const server = await startListening(argv, place.port, { ...account, environment: { HOME: place.directory, ...environment } });
  const signal = reload[0] === "signal" ? ["kill", `-${reload[1]}`, String(server.pid)] : reload;
  async function stop() {
    await server.stop();
    if (end) await runs(end, environment);
  }
  return { pid: server.pid, reload: signal, stop };
}

/** A client of NATS, whose server speaks first. */
const NATS_CLIENT = `
import socket, ssl, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.recv(4096)
ssl.create_default_context(cafile=sys.argv[3]).wrap_socket(s, server_hostname=sys.argv[2])
`;

/** Returns whether a client that knows the authority alone accepts the server by this name. */
export async function trustsServer({ preset, asking = [] }: PresetServer, port: number, name: string, root: string) {
  const anchors = join(mkdtempSync(join(tmpdir(), "certitude-anchors-")), "root.pem");
  writeFileSync(anchors, root);
  const openssl = ["openssl", "s_client", "-connect", `127.0.0.1:${port}`, "-CAfile", anchors, "-verify_hostname", name, "-verify_return_error", ...asking];
  const argv = preset === "nats-server" ? ["python3", "-c", NATS_CLIENT, String(port), name, anchors] : openssl;
  const { isGood } = await runs(argv);
  rmSync(dirname(anchors), { recursive: true });
  return isGood;
}
