import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../pki/tls-servers";

export type BindKey = { name: string; algorithm: string; secret: string };
/** Records as a zone file has them, below a first line of SOA. `options` are statements of named.conf. */
type Zone = { name: string; records?: string; options: string };
type Given = { port: number; keys?: BindKey[]; zones: Zone[]; isResolver?: boolean };

const ADDRESS = "127.0.0.1";

export const aKey = (name: string, algorithm = "hmac-sha256"): BindKey => ({
  name,
  algorithm,
  secret: Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64"),
});

/** A root of its own, so that no name is looked up beyond this machine. */
const ROOT: Zone = { name: ".", records: "@ NS ns.\nns. A 127.0.0.1\n", options: "type primary; allow-update { none; };" };

const running = new Set<Bun.Subprocess>();

/** Ends what a failed test has left. */
export function endBinds() {
  for (const each of running) each.kill("SIGKILL");
  running.clear();
}

/** A BIND of a scratch directory, which has loaded what it is the primary of. A resolver knows no names but those of its zones. */
export async function startBind({ port, keys = [], zones, isResolver = false }: Given) {
  const directory = mkdtempSync(join(tmpdir(), "bind-"));
  const control = { ...aKey("control"), port: await freePort() };
  const fileOf = (name: string) => `${directory}/${name === "." ? "root" : name}.zone`;
  const toBlock = ({ name, options }: Zone) => `zone "${name}" { file "${fileOf(name)}"; ${options} };`;
  const toKey = ({ name, algorithm, secret }: BindKey) => `key "${name}" { algorithm ${algorithm}; secret "${secret}"; };`;
  const all = isResolver ? [ROOT, ...zones] : zones;
  for (const { name, records } of all) {
    if (records !== undefined) writeFileSync(fileOf(name), `$TTL 60\n@ SOA ns hostmaster 1 3600 600 86400 1\n${records}`);
  }
  writeFileSync(
    `${directory}/named.conf`,
    `options {
      directory "${directory}"; pid-file none; session-keyfile none;
      listen-on port ${port} { ${ADDRESS}; }; listen-on-v6 { none; };
      query-source address ${ADDRESS}; transfer-source ${ADDRESS}; notify-source ${ADDRESS};
      recursion ${isResolver ? "yes" : "no"}; allow-query { any; }; allow-recursion { any; }; allow-transfer { any; };
      dnssec-validation no; empty-zones-enable no; notify no; notify-delay 0; notify-rate 1000; startup-notify-rate 1000; serial-query-rate 1000;
    };
    controls { inet ${ADDRESS} port ${control.port} allow { any; } keys { "control"; }; };
    ${[control, ...keys].map(toKey).join("\n")}
    ${all.map(toBlock).join("\n")}`,
  );
  writeFileSync(`${directory}/rndc.conf`, `${toKey(control)} options { default-server ${ADDRESS}; default-port ${control.port}; default-key "control"; };`);

  const child = Bun.spawn(["named", "-g", "-4", "-n", "1", "-c", `${directory}/named.conf`], { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  running.add(child);
  let words = "";
  const up = Promise.withResolvers<void>();
  const end = (async () => {
    for await (const bytes of child.stderr) {
      words += Buffer.from(bytes);
      if (/ running\n/.test(words)) up.resolve();
    }
    up.reject(new Error(`named ended: ${words}`));
  })();
  await up.promise;

  async function rndc(...command: string[]) {
    const ran = Bun.spawn(["rndc", "-c", `${directory}/rndc.conf`, ...command], { stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    if ((await ran.exited) !== 0) throw new Error(`rndc ${command.join(" ")}: ${await ran.stderr.text()}`);
  }
  async function stop() {
    child.kill("SIGTERM");
    await Promise.all([child.exited, end]);
    running.delete(child);
    rmSync(directory, { recursive: true });
  }
  return { server: `${ADDRESS}:${port}`, rndc, stop };
}
