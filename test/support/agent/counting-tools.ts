import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { permittedCall } from "#agent/host/arguments";
import type { Host } from "#agent/host/host";
import type { Desired } from "#agent/server-client";
import { newAgentHost, withScratchSystem } from "./agent-host";
import { withScratchCaTrust } from "./scratch-ca-trust";

export const REBUILT = ["linux_update_ca_certificates", "linux_update_ca_trust"] as const;
export type Rebuilt = (typeof REBUILT)[number];

/**
 * A scratch system of each kind, where each run of the tools that rebuild their bundles is noted; with the file `fault` there,
 * they fail.
 */
export function withCountedTools(given: Host, directory: string): Host {
  const host = withScratchCaTrust(withScratchSystem(given, directory), directory);
  mkdirSync(join(directory, "bin"), { recursive: true });
  const wrapped = (update: readonly string[]) => {
    const [program = "", ...args] = update;
    const path = join(directory, "bin", basename(program));
    const note = `echo ${basename(program)} >>${join(directory, "runs")}`;
    const fail = `[ ! -e ${join(directory, "fault")} ] || { . ${join(directory, "fault")}; }`;
    writeFileSync(path, `#!/bin/sh\n${note}\n${fail}\nexec ${Bun.which(program)} "$@"\n`);
    chmodSync(path, 0o755);
    return permittedCall([path, ...args]);
  };
  return {
    ...host,
    system: { ...host.system, update: wrapped(host.system.update) },
    caTrust: { ...host.caTrust, update: wrapped(host.caTrust.update) },
  };
}

/** How often a tool has run since it was asked last. */
export function runsIn(directory: string) {
  const path = join(directory, "runs");
  const runs = existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0;
  writeFileSync(path, "");
  return runs;
}

export const placeOf = (type: Rebuilt, { system, caTrust }: Host) => (type === "linux_update_ca_trust" ? caTrust : system);

/** One pass over the items on such a host by an agent in a process of its own. Returns the signal that ended it. */
export async function passInOwnProcess(directory: string, items: Desired[]) {
  const child = Bun.spawn([process.execPath, import.meta.path, directory], { stdin: new Blob([JSON.stringify(items)]), stderr: "inherit" });
  await child.exited;
  return child.signalCode;
}

if (import.meta.main) {
  const agent = await newAgentHost(withCountedTools, process.argv[2]);
  await agent.passAll(await Bun.stdin.json());
}
