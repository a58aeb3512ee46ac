import { chmodSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentHost } from "../pki/tls-clients";

/** Everything below a directory, or what of it is wanted: kind, mode, owner and content. */
export const stateOf = (directory: string, isWanted: (name: string) => boolean = () => true) =>
  Object.fromEntries(
    readdirSync(directory, { recursive: true, encoding: "utf8" })
      .filter(isWanted)
      .toSorted()
      .map((name) => {
        const path = join(directory, name);
        const found = lstatSync(path);
        const content = found.isFile() ? readFileSync(path, "latin1") : found.isSymbolicLink() ? readlinkSync(path) : "";
        return [name, `${found.mode.toString(8)} ${found.uid}:${found.gid} ${content}`];
      }),
  );

/** Waits until it holds: a reload takes its moment. */
export async function until(holds: () => Promise<void>) {
  for (const end = performance.now() + 50_000; ; await Bun.sleep(50)) {
    try {
      return await holds();
    } catch (error) {
      if (performance.now() > end) throw error;
    }
  }
}

/** A host on whose PATH these programs come first: they note how they were called, and go on with the line of shell. */
export function withPrograms(agent: AgentHost, programs: Record<string, string>) {
  mkdirSync(agent.pathOf("bin"), { recursive: true });
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(agent.pathOf("bin", name), `#!/bin/sh\necho ${name} "$@" >>${agent.pathOf("calls")}\n${line}\n`);
    chmodSync(agent.pathOf("bin", name), 0o755);
  }
  return { ...agent.host, environment: { PATH: `${agent.pathOf("bin")}:${Bun.env.PATH}` } };
}
