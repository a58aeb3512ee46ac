import { readFile, stat } from "node:fs/promises";
import { foreign } from "./foreign";
import type { Host } from "./host";

const MAX_PASSWORD = 4_096;

/** The password that a `storePasswordRef` stands for on this host. It never enters a log, a message or a command line. */
export async function resolvePassword({ environment }: Host, reference: string): Promise<string> {
  const [scheme = "", place = ""] = reference.split(/:(.*)/s);
  if (scheme === "env") {
    const value = environment[place];
    if (!value) throw new Error(`config.storePasswordRef names the environment variable ${place}, which is not set where the agent runs.`);
    return value;
  }
  if (scheme === "file") return readPasswordFile(place);
  throw new Error("config.storePasswordRef: this agent cannot ask a vault. Let the vault's own agent write the password to a file, and use file:/path.");
}

/** The first line of the file. */
async function readPasswordFile(path: string) {
  const found = await stat(path).catch((error: Error) => {
    throw new Error(`The file that config.storePasswordRef names cannot be read: ${foreign(error.message)}.`);
  });
  if (!found.isFile() || found.size > MAX_PASSWORD)
    throw new Error(`${path}, which config.storePasswordRef names, is not a file of at most ${MAX_PASSWORD} bytes.`);
  const [line = ""] = (await readFile(path, "utf8")).split(/\r?\n/);
  if (line === "") throw new Error(`${path}, which config.storePasswordRef names, begins with an empty line, not with a password.`);
  return line;
}
