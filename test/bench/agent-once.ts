import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { thisHost } from "#agent/host/host";
import type { Desired } from "#agent/server-client";
import { readTarget } from "#agent/targets";
import { desired, desiredServer } from "../support/agent/agent-host";
import { agreeing } from "../support/agent/policies";
import { newAuthority } from "../support/pki/authority";

/** CPU and memory of `certitude-agent --once` in a process of its own, with the tools that it starts, where nothing has changed. */
const PASSES = 5;
const MAIN = resolve(import.meta.dir, "../../src/agent-main.ts");
const ETAG = '"1"';

const authority = await newAuthority();
const directory = mkdtempSync(join(tmpdir(), "certitude-once-"));
const pathOf = (...names: string[]) => join(directory, ...names);
const tokenFile = pathOf("token");
writeFileSync(tokenFile, `cag_${"a".repeat(43)}`, { mode: 0o600 });
writeFileSync(pathOf("password"), "changeit\n", { mode: 0o600 });
const executable = pathOf("certitude-agent");
await Bun.$`${process.execPath} build ${MAIN} --compile --minify --outfile ${executable}`.quiet();

let content = "";
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request) {
    if (request.method === "POST") return new Response(null, { status: 204 });
    if (request.headers.get("if-none-match") === ETAG) return new Response(null, { status: 304 });
    return new Response(content, { headers: { etag: ETAG } });
  },
});

/** One pass: milliseconds of CPU, MiB of the agent. */
async function pass(name: string) {
  const argv = ["--server", `http://127.0.0.1:${server.port}`, "--token-file", tokenFile, "--state-dir", pathOf(name), "--policy", pathOf(`${name}.json`)];
  const child = Bun.spawn([executable, ...argv, "--once"], { env: { PATH: Bun.env.PATH ?? "", HOME: directory }, stdout: "ignore", stderr: "pipe" });
  const [code, said, memory] = await Promise.all([child.exited, child.stderr.text(), peakOf(child)]);
  const usage = child.resourceUsage();
  if (code !== 0 || !usage) throw new Error(`${name}: the agent ended with ${code}: ${said}`);
  return { cpu: Number(usage.cpuTime.total) / 1_000, memory };
}

/** MiB of the process itself at its largest: what the system counts at its end begins with the memory of the one that started it. */
async function peakOf(child: Bun.Subprocess) {
  let peak = 0;
  while (child.exitCode === null) {
    const [, kib] = /^VmHWM:\s+(\d+) kB$/m.exec(await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "")) ?? [];
    if (kib !== undefined) peak = Number(kib) / 1_024;
    await Bun.sleep(5);
  }
  return peak;
}

async function measure(name: string, items: Desired[], variants: [what: string, prepare: () => void][]) {
  content = JSON.stringify({ items, keep: [] });
  const { policy } = await agreeing(thisHost({ PATH: Bun.env.PATH, HOME: directory }), ...items.map(readTarget));
  writeFileSync(pathOf(`${name}.json`), JSON.stringify(policy));
  await pass(name);
  for (const [what, prepare] of variants) {
    const seen = [];
    for (let each = 0; each < PASSES; each++) {
      prepare();
      seen.push(await pass(name));
    }
    const middle = (values: number[]) => values.toSorted((one, other) => one - other)[Math.floor(PASSES / 2)]?.toFixed(0);
    console.info(
      `${items.length} ${name}${what}: ${middle(seen.map(({ cpu }) => cpu))} ms of CPU, ${middle(seen.map(({ memory }) => memory))} MiB (median of ${PASSES})`,
    );
  }
}

const place = (name: string) => {
  const path = pathOf("places", name);
  mkdirSync(path, { recursive: true });
  return path;
};
const many = <Each>(count: number, make: (index: number) => Each) => Array.from({ length: count }, (_, index) => make(index));
const unchanged: [string, () => void] = ["", () => {}];

await measure("nothing", [], [unchanged]);
const leaves = await Promise.all(many(50, (index) => authority.issueServer(`host-${index}.test`)));
const files = leaves.map((leaf, index) => desiredServer(leaf, { trustStoreType: "pem_files", config: { trustStorePath: place(`files-${index}`) } }));
await measure("files", files, [unchanged]);
const storePasswordRef = `file:${pathOf("password")}`;
const keystores = many(50, (index) =>
  desired(authority.root, {
    trustStoreType: "java_keystore_pkcs12",
    config: { trustStorePath: join(place(`keystore-${index}`), "trust.p12"), alias: "root", storePasswordRef },
  }),
);
await measure("keystores", keystores, [unchanged, [", read by keytool again", () => rmSync(pathOf("keystores/keystores.json"))]]);
const anchors = many(1_000, (index) =>
  desired(authority.root, { trustStoreType: "docker_certs_d", config: { trustStorePath: place(`registry-${index}`), alias: "root" } }),
);
await measure("assignments", anchors, [unchanged]);

await server.stop(true);
rmSync(directory, { recursive: true });
authority.remove();
