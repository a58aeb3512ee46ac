import { appendFileSync, chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, rmSync, statfsSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { startProxy } from "../../support/server/proxy";
import { type Certitude, type Program, runToEnd, startLogging } from "./certitude";
import { type Kind, type Served, START } from "./servers";

const DISK = "24m";
const LIBRARIES = "/usr/lib";
type Starting = {
  program: Program["agent"];
  kind: Kind;
  parent: string;
  names: string[];
  cluster: string;
  bootstrap: Parameters<(typeof START)[Kind]>[0]["bootstrap"];
};

/** The library that shows a program another clock (Debian: libfaketime); undefined where there is none. */
export function findClockLibrary() {
  const paths = readdirSync(LIBRARIES).map((each) => join(LIBRARIES, each, "faketime/libfaketimeMT.so.1"));
  return paths.find((path) => existsSync(path));
}

/** A host: servers, and an agent that has joined, all of whose traffic is kept. */
export async function startHost(
  certitude: Certitude,
  { program, kind, parent, ...rest }: Starting,
  { interval, hasOwnDisk }: { interval: number; hasOwnDisk: boolean },
) {
  const directory = join(parent, kind);
  mkdirSync(directory);
  if (hasOwnDisk) await runToEnd(["mount", "-t", "tmpfs", "-o", `size=${DISK}`, "tmpfs", directory], { PATH: Bun.env.PATH ?? "" });
  chmodSync(directory, 0o711);
  const served = await START[kind]({ directory, ...rest });
  const [traffic, log, clock] = ["traffic", "log", "clock"].map((each) => join(parent, `${kind}.${each}`)) as [string, string, string];
  const [policy, state] = [join(directory, "policy.json"), join(directory, "state")];
  const proxy = await startProxy({ host: "127.0.0.1", port: Number(new URL(certitude.url).port) }, (bytes) => appendFileSync(traffic, bytes));
  const server = `http://127.0.0.1:${proxy.port}`;
  writeFileSync(policy, JSON.stringify(policyOf(directory, served)), { mode: 0o600 });
  writeFileSync(clock, "+0");
  const library = findClockLibrary();
  const faked = library && { LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: "1", FAKETIME_DONT_FAKE_MONOTONIC: "1" };
  const env = { PATH: Bun.env.PATH ?? "", HOME: directory, ...faked };
  const { token } = await certitude.ask("POST", "/join-tokens", {});
  const said = await runToEnd([...program, "join", "--server", server, "--token-file", "-", "--state-dir", state, "--name", kind], env, token);
  const agentId = /\(([0-9a-f-]{36})\)/.exec(said)?.[1];
  if (agentId === undefined) throw new Error(`the host did not join: ${said}`);
  const agent = startLogging([...program, "--state-dir", state, "--policy", policy, "--interval", `${interval}s`], env, log);
  const filler = join(directory, "filler");

  return {
    kind,
    agentId,
    sites: served.sites,
    keyPlaces: [...served.keyPlaces, join(state, "keys")],
    keystore: served.keystore,
    /** What may show what was told: the traffic, and the agent's log. */
    told: [traffic, log],
    /** Leaves nothing free on the disk. */
    fillUp() {
      const file = openSync(filler, "w");
      const { bavail, bsize } = statfsSync(directory);
      const page = Buffer.alloc(4_096);
      for (let pages = Math.floor((bavail * bsize) / page.length); pages > 0; pages--) writeSync(file, page);
      closeSync(file);
    },
    makeRoom: () => rmSync(filler),
    /** Sets the agent's clock, and that of the programs that it starts, so many seconds ahead. */
    setClock: (seconds: number) => writeFileSync(clock, `+${seconds}`),
    async stop() {
      agent.kill("SIGTERM");
      await agent.exited;
      await proxy.stop();
      await served.stop();
    },
    /** Once its keys and files were looked at. */
    async unmount() {
      if (hasOwnDisk) await runToEnd(["umount", "--lazy", directory], { PATH: Bun.env.PATH ?? "" });
    },
  };
}

const policyOf = (directory: string, { reloads, passwords, keystore }: Served) => ({
  directories: [directory],
  privateKeys: true,
  ...(reloads.length > 0 && { reloads }),
  ...(passwords.length > 0 && { passwords }),
  ...(keystore && { files: [keystore.path] }),
});

export type Host = Awaited<ReturnType<typeof startHost>>;
