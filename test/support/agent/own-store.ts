import { readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ANCHORS = "/usr/local/share/ca-certificates";
const MADE = "/etc/ssl/certs";
const BUNDLE = join(MADE, "ca-certificates.crt");

/** Runs a program of this machine, with nothing of this process's environment. */
async function runPlain(...argv: string[]) {
  const child = Bun.spawn(argv, { env: { PATH: Bun.env.PATH ?? "", HOME: tmpdir() }, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  return { code, stdout, stderr };
}

/** Builds the bundle again from the anchors. */
export async function rebuildBundle() {
  const { code, stderr } = await runPlain("update-ca-certificates", "--fresh");
  if (code !== 0) throw new Error(`update-ca-certificates ended with ${code}: ${stderr}`);
}

/** Returns the content of the machine's own trust store. */
export const readOwnStore = () => ({ anchors: readdirSync(ANCHORS).toSorted(), made: readdirSync(MADE).toSorted(), bundle: readFileSync(BUNDLE, "utf8") });

/** A place among the machine's own anchors, which is empty again after `clear`, whatever happened. */
export function newAnchor() {
  const alias = `certitude-test-${crypto.randomUUID()}`;
  const path = join(ANCHORS, `${alias}.crt`);
  async function clear() {
    rmSync(path, { force: true });
    await rebuildBundle();
  }
  return { alias, path, clear };
}

/** Returns the answer to curl by the machine's own trust store, or "refused" where it does not trust the server. */
export async function curl(url: string, name: string) {
  const { hostname, port } = new URL(url);
  const argv = ["--disable", "--silent", "--show-error", "--max-time", "10", "--resolve", `${name}:${port}:${hostname}`, `https://${name}:${port}/`];
  const { code, stdout, stderr } = await runPlain("curl", ...argv);
  if (code === 60) return "refused";
  if (code !== 0) throw new Error(`curl ended with ${code}: ${stderr}`);
  return stdout;
}
