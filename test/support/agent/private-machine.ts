import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Debian's trust stores, the files that fill them, and dpkg's record of its triggers. */
const PLACES = ["/etc/ssl", "/etc/ca-certificates", "/usr/local/share/ca-certificates", "/var/lib/ca-certificates-java", "/var/lib/dpkg"];

/** One public root in the system's store: update-ca-certificates starts several processes for each. Its hooks are not told. */
const withOneRoot = (list: string) =>
  `grep --max-count=1 ^mozilla/ /etc/ca-certificates.conf >${list} && mount --bind ${list} /etc/ca-certificates.conf && ` +
  "update-ca-certificates --fresh --hooksdir /nonexistent >&2";

/**
 * Runs a script on this machine, where each of its changes to the trust stores is seen by the script alone and ends with it.
 * Returns what it printed, as JSON.
 */
export async function runOnPrivateMachine(script: string) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-machine-"));
  const overlays = PLACES.map((place, index) => {
    const [upper, work] = ["upper", "work"].map((each) => join(directory, "disk", `${index}-${each}`));
    return `mkdir ${upper} ${work} && mount -t overlay overlay -o lowerdir=${place},upperdir=${upper},workdir=${work} ${place}`;
  });
  mkdirSync(join(directory, "disk"));
  const disk = `mount -t tmpfs none ${join(directory, "disk")}`;
  const command = [disk, ...overlays, withOneRoot(join(directory, "disk", "roots")), `exec "$0" "$1"`].join(" && ");
  const argv = ["unshare", "--mount", "sh", "-c", command, process.execPath, script];
  const child = Bun.spawn(argv, { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  rmSync(directory, { recursive: true });
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}
