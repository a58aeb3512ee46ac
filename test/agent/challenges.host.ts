import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Policy } from "#agent/policy/policy";
import { runAgent } from "#agent/run";
import { challengesOf } from "#agent/status";
import { createLog } from "#log/log";
import type { HostProof } from "#modules/issuance/requests/schema/host-keys";
import { newConnectedAgent } from "../support/agent/connected-agent";
import { newName } from "../support/issuance/acme";
import { type Pebble, startPebble } from "../support/issuance/pebble";
import { endServers, freePort, startListening } from "../support/pki/tls-servers";
import { privateWorld } from "../support/server/connections";
import { run } from "../support/server/program";
import { ISSUING, runShared } from "../support/server/shared-jobs";

setDefaultTimeout(120_000);

const { sql, deps, url } = privateWorld;
const [httpPort, tlsPort] = [await freePort(), await freePort()];
let pebble: Pebble;
beforeAll(async () => {
  await sql`update certificate_requests set due_at = null where due_at is not null`; // of other tests
  pebble = await startPebble({ httpPort, tlsPort });
});
afterAll(async () => {
  await pebble.stop();
  endServers();
});

/** A host whose certificates come from the CA, with a directory for them and one that a web server serves. */
async function newHost(policy: Policy = {}) {
  const agent = await newConnectedAgent();
  mkdirSync(agent.pathOf("www"));
  const consent = (more: Policy) => agent.setPolicy({ directories: [agent.pathOf("store")], privateKeys: true, ...more });
  consent(policy);
  const send = (method: string, path: string, body?: object) => agent.organization.admin(method, path, { url, ...(body && { body }) });
  const { directoryUrl, caBundlePem } = pebble;
  const { body: issuer } = await send("POST", "/issuers", { kind: "acme", name: "CA", config: { directoryUrl, caBundlePem, termsOfServiceAgreed: true } });
  let id = "";
  const get = async () => (await send("GET", `/certificate-requests/${id}`)).body;
  const isLeft = async () => (await sql`select from certificate_requests where id = ${id} and due_at is not null`).length > 0;

  /** Has a server do what is due, as if no time had to pass. */
  async function serve() {
    await sql`update certificate_requests set due_at = now() where id = ${id} and due_at is not null`;
    await sql`update issuers set due_at = now(), retry_at = null where id = ${issuer.id}`;
    await runShared(ISSUING, deps);
    return get();
  }

  return {
    agent,
    consent,
    get,
    serve,
    /** Orders a certificate for a key that the agent is still to make. */
    async order(proof: HostProof, ...names: string[]) {
      const config = { trustStorePath: agent.pathOf("store"), certFileName: "tls.crt", keyFileName: "tls.key" };
      const deployment = { agentId: agent.id, applicationId: "shop", trustStoreType: "pem_files", materialType: "server_certificate", config, proof };
      const { status, body, text } = await send("POST", "/certificate-requests", { issuerId: issuer.id, names, key: { location: "agent" }, deployment });
      if (status !== 202) throw new Error(text);
      id = body.id;
    },
    cancel: () => send("POST", `/certificate-requests/${id}/cancel`),
    /** Server and agent take turns until the request reads so, and nothing is left to be done. */
    async until(isIt: (request: { status: string; reason: string | null }) => boolean) {
      for (let request = await serve(); ; request = await serve()) {
        await agent.pass();
        if (isIt(request) && !(["issued", "failed"].includes(request.status) && (await isLeft()))) return request;
        await Bun.sleep(20); // the CA validates
      }
    },
    left: () => readdirSync(agent.pathOf("www"), { recursive: true }),
  };
}

const isIssued = ({ status, reason }: { status: string; reason: string | null }) => {
  if (status === "failed") throw new Error(`it failed: ${reason}`);
  return status === "issued";
};

/** A web server that serves a directory of the host in clear, as another user. */
async function serveDirectory(directory: string, root: string) {
  chmodSync(directory, 0o711);
  mkdirSync(`${directory}/nginx`, { mode: 0o777 });
  const temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((each) => `${each}_temp_path ${directory}/nginx/${each};`).join(" ");
  const config = `${directory}/nginx/nginx.conf`;
  writeFileSync(
    config,
    `pid ${directory}/nginx/pid; user www-data; events {} http { access_log off; ${temporary} server { listen 127.0.0.1:${httpPort}; root ${root}; } }`,
  );
  return startListening(["nginx", "-p", `${directory}/nginx`, "-c", config, "-e", `${directory}/nginx/error.log`, "-g", "daemon off;"], httpPort);
}

const isOpen = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true)).on("error", () => resolve(false));
    socket.on("connect", () => socket.destroy());
  });

describe("http-01 by a webroot", () => {
  test("is served by nginx once the host permits it, and leaves nothing in the webroot", async () => {
    const host = await newHost();
    const { agent } = host;
    const nginx = await serveDirectory(agent.pathOf(), agent.pathOf("www"));
    await host.order({ type: "http-01", webroot: agent.pathOf("www") }, newName(), newName());
    await agent.pass(); // the key
    const { reason } = await host.until((request) => request.reason?.includes("does not permit") === true);
    expect(reason).toEndWith(`An administrator of the host permits it by: certitude agent policy allow --webroot ${agent.pathOf("www")}`);
    expect(challengesOf(agent.state())).toMatchObject(
      [1, 2].map(() => ({ state: "unanswered", since: null, why: expect.stringContaining("does not permit") })),
    );
    host.consent({ webroots: [agent.pathOf("www")] });
    await agent.pass();
    const shown = host.left().filter((each) => lstatSync(agent.pathOf("www", `${each}`)).isFile());
    expect(shown).toHaveLength(2);
    const files = shown.map((each) => agent.pathOf("www", `${each}`)).toSorted();
    const answered = challengesOf(agent.state());
    expect(answered).toMatchObject(files.map(() => ({ state: "answered", since: expect.any(String), why: null })));
    expect(answered.map(({ file }) => file).toSorted()).toEqual(files);
    const { out } = await run(["agent", "status", "--state-dir", agent.pathOf("state")]);
    for (const file of files) expect(out).toMatch(new RegExp(`^answers a challenge of a CA since 2\\S+Z: ${file}$`, "m"));
    expect(lstatSync(agent.pathOf("www", `${shown[0]}`)).mode & 0o777).toBe(0o644);
    await host.until(isIssued);
    await agent.pass();
    expect(existsSync(agent.pathOf("store/tls.key"))).toBe(true);
    expect(host.left()).toEqual([]);
    expect(challengesOf(agent.state())).toEqual([]);
    await nginx.stop();
    await agent.end();
  });
});

describe("http-01 by the agent itself", () => {
  test("reports that a web server has the port; answers the order's tokens alone once that is gone, and closes the port", async () => {
    const host = await newHost({ challengePorts: [`${httpPort}`] });
    const { agent } = host;
    const nginx = await serveDirectory(agent.pathOf(), agent.pathOf("www"));
    await host.order({ type: "http-01", address: "127.0.0.1", port: httpPort }, newName(), "127.0.0.1");
    await agent.pass(); // the key
    const { reason } = await host.until((request) => request.reason?.includes("taken") === true);
    expect(reason).toContain(`The agent cannot show it: Port ${httpPort} of 127.0.0.1 is taken by another program. Have that program serve a webroot`);
    await nginx.stop();
    await agent.pass();
    const [shown] = (await agent.client.fetchDesired(undefined))?.state.challenges ?? [];
    const ask = (path: string) => fetch(`http://127.0.0.1:${httpPort}${path}`);
    expect(await (await ask(`/.well-known/acme-challenge/${shown?.token}`)).text()).toBe(`${shown?.token}.${shown?.thumbprint}`);
    for (const path of ["/", "/.well-known/acme-challenge/", `/.well-known/acme-challenge/${"x".repeat(43)}`]) expect((await ask(path)).status).toBe(404);
    await host.until(isIssued);
    await agent.pass();
    expect(await isOpen(httpPort)).toBe(false);
    await agent.end();
  });
});

describe("tls-alpn-01", () => {
  test("is answered by the agent for each name and for an address; who speaks another protocol is sent away", async () => {
    const host = await newHost({ challengePorts: [`${tlsPort}`] });
    const { agent } = host;
    const names = [newName(), newName(), "127.0.0.1"];
    await host.order({ type: "tls-alpn-01", port: tlsPort }, ...names);
    await agent.pass(); // the key
    await host.until(({ reason }) => reason?.includes("cannot be seen yet") === true);
    /** The protocol that is spoken, or how it ended. */
    const speak = (servername: string, ALPNProtocols: string[]) =>
      new Promise<string>((resolve) => {
        const socket = connectTls({ port: tlsPort, host: "127.0.0.1", servername, ALPNProtocols, rejectUnauthorized: false });
        socket.on("secureConnect", () => socket.on("close", () => resolve(`closed after ${socket.alpnProtocol}`)).resume());
        socket.on("error", () => resolve("refused"));
      });
    expect(await speak(names[0] ?? "", ["acme-tls/1"])).toBe("closed after acme-tls/1");
    expect(await speak(names[0] ?? "", ["http/1.1"])).toBe("refused");
    expect(await speak(names[0] ?? "", [])).toBe("closed after false");
    expect(await speak("other.example", ["acme-tls/1"])).toBe("refused");
    await host.until(isIssued);
    await agent.pass();
    expect(await isOpen(tlsPort)).toBe(false);
    await agent.end();
  });
});

test("an order waits for an agent that does not know challenges, and says so", async () => {
  const host = await newHost({ webroots: ["/"] });
  await host.order({ type: "http-01", webroot: host.agent.pathOf("www") }, newName());
  await host.agent.pass(); // the key
  for (let request = await host.serve(); !request.reason?.includes("cannot be seen yet"); request = await host.serve());
  const { status, reason } = await host.get();
  expect({ status, reason }).toEqual({
    status: "validating",
    reason: expect.stringContaining("The agent has not shown it yet; an agent of an older release never does."),
  });
  await host.agent.pass();
  expect(host.left().length).toBeGreaterThan(0);
  await host.agent.restart(); // as after a kill
  await host.cancel();
  await host.serve();
  await host.agent.pass();
  expect(host.left()).toEqual([]);
  await host.agent.end();
});

test("an order comes to its end long before the agent's next pass would be due", async () => {
  const host = await newHost({ challengePorts: [`${httpPort}`] });
  const { agent } = host;
  await host.order({ type: "http-01", port: httpPort }, newName());
  const stopping = new AbortController();
  const ended = runAgent(
    {
      server: agent.server,
      connection: () => ({ token: agent.token, tls: {}, hasOwnAuthority: false }),
      stateDirectory: agent.pathOf("loop"),
      policy: agent.policySource,
      interval: 3_600_000,
      isOnce: false,
      isDryRun: false,
    },
    { host: agent.host, log: createLog("silent"), version: "1.2.3", signal: stopping.signal },
  );
  while (!existsSync(agent.pathOf("store/tls.crt"))) {
    isIssued(await host.serve());
    await Bun.sleep(50);
  }
  stopping.abort();
  expect(await ended).toEqual({ failed: 0 });
  expect(await isOpen(httpPort)).toBe(false);
  await agent.end();
});
