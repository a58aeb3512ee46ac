import { mkdirSync, writeFileSync } from "node:fs";
import { createListeners } from "#agent/challenges/listeners";
import { thisHost } from "#agent/host/host";
import { tokenAccess } from "#agent/identity/access";
import { runPass } from "#agent/pass";
import { createServerClient } from "#agent/server-client";
import { openState } from "#agent/state";
import { readTarget } from "#agent/targets";
import { createTransport } from "#agent/transport";
import { createLog } from "#log/log";
import { desired, desiredServer, newAgentHost } from "../support/agent/agent-host";
import { agreeing } from "../support/agent/policies";
import { newAuthority } from "../support/pki/authority";

/** CPU of one pass over 50 assignments that are as desired, by the answer 304, in milliseconds. Bun's own start-up is not in it. */
const ASSIGNMENTS = 50;
const PASSES = 40;

const authority = await newAuthority();
const agent = await newAgentHost();
const items = [];
for (let index = 0; index < ASSIGNMENTS; index++) {
  const directory = agent.pathOf(`place-${index}`);
  mkdirSync(directory);
  const leaf = await authority.issueServer(`host-${index}.test`);
  const kinds = [
    () => desired(authority.root, { trustStoreType: "docker_certs_d", config: { trustStorePath: directory, alias: "root" } }),
    () => desired(authority.root, { trustStoreType: "pem_ca_bundle", config: { trustStorePath: `${directory}/bundle.pem` } }),
    () => desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: directory, alias: "root" } }),
    () =>
      desired(authority.root, {
        trustStoreType: "java_keystore_pkcs12",
        config: { trustStorePath: `${directory}/trust.p12`, alias: "root", storePasswordRef: `file:${agent.pathOf("password")}` },
      }),
    () => desiredServer(leaf, { trustStoreType: "nginx_tls", config: { trustStorePath: directory, reloadCommand: ["true"] } }),
  ];
  const make = kinds[index % kinds.length];
  if (make) items.push(make());
}
writeFileSync(agent.pathOf("password"), "changeit\n", { mode: 0o600 });

const etag = '"1"';
const body = JSON.stringify({ items, keep: [] });
const server = Bun.spawn(
  [
    process.execPath,
    "-e",
    `
  const server = Bun.serve({ port: 0, fetch(request) {
    if (request.method === "POST") return new Response(null, { status: 204 });
    if (request.headers.get("if-none-match") === '${etag}') return new Response(null, { status: 304 });
    return new Response(Bun.file(${JSON.stringify(agent.pathOf("desired.json"))}), { headers: { etag: '${etag}' } });
  } });
  console.log(server.port);`,
  ],
  { stdout: "pipe" },
);
writeFileSync(agent.pathOf("desired.json"), body);
const { value } = await server.stdout.getReader().read();
const url = `http://127.0.0.1:${new TextDecoder().decode(value).trim()}`;
const access = tokenAccess(
  () => "x",
  createTransport({ server: url, connection: () => ({ tls: {}, hasOwnAuthority: false }), environment: {}, signal: new AbortController().signal }),
);
const client = createServerClient({ server: url, access, trust: { judge: async () => undefined } });
const state = await openState(agent.pathOf("loop"));
const host = thisHost({ PATH: Bun.env.PATH, HOME: agent.directory });
const work = {
  host,
  policy: await agreeing(host, ...items.map(readTarget)),
  state,
  log: createLog("error"),
  client,
  listeners: createListeners(),
  clock: () => new Date(),
  isDryRun: false,
  ignoreBackoff: false,
  isOnce: false,
};
const first = await runPass(work, {});
if (first.failed > 0) throw new Error(`${first.failed} of ${ASSIGNMENTS} could not be installed`);
const costs: number[] = [];
for (let pass = 0; pass < PASSES; pass++) {
  const before = process.cpuUsage();
  await runPass(work, {});
  const { user, system } = process.cpuUsage(before);
  costs.push((user + system) / 1_000);
}
const sorted = costs.toSorted((one, other) => one - other);
console.info(
  `a pass over ${ASSIGNMENTS} unchanged assignments: the first ${costs[0]?.toFixed(1)} ms of CPU, then ${sorted[PASSES / 2]?.toFixed(1)} (median of ${PASSES}), at most ${sorted.at(-1)?.toFixed(1)}`,
);
server.kill();
state.close();
agent.remove();
authority.remove();
await import("./agent-once");
