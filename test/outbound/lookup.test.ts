import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Runs a script on a network of its own, where the only name server is 127.0.0.99. Returns what it printed, as JSON. */
async function runWithNameServer(script: string) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-names-"));
  const resolver = join(directory, "resolv.conf");
  writeFileSync(resolver, "nameserver 127.0.0.99\noptions timeout:1 attempts:1\n");
  const setUp = `ip link set lo up && mount --bind ${resolver} /etc/resolv.conf && exec "$0" "$1"`;
  const argv = [
    "unshare",
    "--user",
    "--map-root-user",
    "--mount",
    "--net",
    "sh",
    "-c",
    setUp,
    process.execPath,
    join(import.meta.dir, "../support/server", script),
  ];
  const child = Bun.spawn(argv, { stdio: ["ignore", "pipe", "pipe"] });
  const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  rmSync(directory, { recursive: true });
  if (code !== 0) throw new Error(`${script} ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

test("names whose name server never answers keep no thread of the process, which also verify tokens", async () => {
  expect(await runWithNameServer("silent-name-server.ts")).toEqual({ ended: 0, of: 32 });
});

test("another name server in /etc/resolv.conf is asked from then on, and the machine itself where none is named", async () => {
  expect(await runWithNameServer("changed-name-server.ts")).toEqual({
    before: "192.0.2.1",
    after: "192.0.2.2",
    servers: ["127.0.0.98"],
    none: ["127.0.0.1"],
  });
});
