import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import type { Policy } from "#agent/policy/policy";
import { observeRemoved } from "#agent/remove";
import type { Desired } from "#agent/server-client";
import { createLog } from "#log/log";
import { desired, desiredServer, newAgentHost } from "../support/agent/agent-host";
import { stateOf, withPrograms } from "../support/agent/observing";
import { holding } from "../support/agent/policies";
import { newKnowingHost, newParties, type Parties } from "../support/agent/store-behaviour";
import type { AgentHost } from "../support/pki/tls-clients";

setDefaultTimeout(300_000);

type Config = Desired["config"];

let parties: Parties;
let leaf: Awaited<ReturnType<Parties["authority"]["issueServer"]>>;
beforeAll(async () => {
  parties = await newParties();
  leaf = await parties.authority.issueServer("leaf.test");
});
afterAll(() => parties.end());

const anchor = (trustStoreType: Desired["trustStoreType"], config: Config, rest: Partial<Desired> = {}) =>
  desired(parties.authority.root, { trustStoreType, config, ...rest });
const server = (config: Config, rest: Partial<Desired> = {}) => desiredServer(leaf, { trustStoreType: "nginx_tls", config, ...rest });
const under = (policy: Policy) => ({ policy: holding(policy) });
/** Everything on the host, but for what the agent notes for itself. */
const placesOf = ({ directory }: AgentHost) => stateOf(directory, (name) => !/^state(\/|$)/.test(name));
const refusal = (...words: string[]) => ({ state: "refused" as const, message: expect.stringContaining(words.join("")) });

/** What an assignment leaves on a host of this policy: nothing at all, while it is refused with these words. */
async function expectRefused(agent: AgentHost, policy: Policy, item: Desired, ...words: string[]) {
  const before = placesOf(agent);
  expect(await agent.pass(item, under(policy))).toEqual(refusal(...words));
  expect(placesOf(agent)).toEqual(before);
}

describe("an administrator of the server who is none of the host", () => {
  test("runs no program: neither by a reload, nor by its interpreter, nor by a pattern for another", async () => {
    const agent = await newKnowingHost(parties);
    const proof = agent.pathOf("proof");
    const store = agent.pathOf("certs");
    const policy: Policy = {
      directories: [store],
      reloadPatterns: [
        ["systemctl", "restart", "*"],
        ["touch", "*"],
      ],
    };
    for (const reloadCommand of [
      ["sh", "-c", `touch ${proof}`],
      ["touch", proof],
      ["/usr/bin/touch", proof],
      ["env", "touch", proof],
      ["nginx", "-s", "reload", "-c", proof],
      ["systemctl", "restart", "--host=evil"],
    ])
      await expectRefused(agent, policy, anchor("openssl_ca_dir", { trustStorePath: store, alias: "corp", reloadCommand }), "running ");
    expect(existsSync(proof)).toBe(false);
    agent.remove();
  });

  test("loads no code into Node.js: what would load it is not even tried", async () => {
    const agent = await newKnowingHost(parties);
    const proof = agent.pathOf("proof");
    const file = agent.pathOf("environment");
    for (const flag of [
      `--import=data:text/javascript,import("node:fs").then((fs)=>fs.writeFileSync("${proof}",""))`,
      `--require=${proof}`,
      `--openssl-config=${proof}`,
    ])
      await expectRefused(agent, { files: [file] }, anchor("nodejs_extra_ca_certs", { envFilePath: file, nodeFlags: [flag] }), "the flag ", flag);
    expect(existsSync(proof)).toBe(false);
    agent.remove();
  });

  test("runs no Python of its choice", async () => {
    const agent = await newKnowingHost(parties);
    const venv = agent.pathOf("venv");
    mkdirSync(join(venv, "bin"), { recursive: true });
    writeFileSync(join(venv, "bin/python"), `#!/bin/sh\ntouch ${agent.pathOf("proof")}\n`, { mode: 0o755 });
    await expectRefused(agent, { directories: [agent.directory] }, anchor("python_certifi", { pythonVenvPath: venv }), `running the Python of ${venv}`);
    expect(existsSync(agent.pathOf("proof"))).toBe(false);
    agent.remove();
  });

  test("writes nowhere but where it may: by no path, link, name or preset of another store", async () => {
    const agent = await newKnowingHost(parties);
    const [open, closed] = [agent.pathOf("open"), agent.pathOf("closed")];
    for (const each of [open, closed]) mkdirSync(each);
    symlinkSync(closed, join(open, "link"));
    symlinkSync("../closed", join(open, "relative"));
    const policy: Policy = { directories: [open] };
    for (const [path, words] of [
      [closed, `writing into ${closed} (`],
      [join(open, "link"), `writing into ${join(open, "link")}, which leads to ${closed} (`],
      [join(open, "link/deep/er"), `which leads to ${join(closed, "deep/er")} (`],
      [join(open, "relative"), `which leads to ${closed} (`],
      [`${open}-too`, `writing into ${open}-too (`],
      [`/proc/self/root${open}`, "No policy can"],
      [`/proc/self/cwd${open}`, "No policy can"],
    ] as const)
      await expectRefused(agent, policy, anchor("openssl_ca_dir", { trustStorePath: path, alias: "corp" }), words);
    for (const certFileName of ["authorized_keys", "cron", "profile", "nginx.conf", "x.so"])
      await expectRefused(agent, policy, anchor("openssl_ca_dir", { trustStorePath: open, certFileName }), join(open, certFileName));
    await expectRefused(agent, policy, anchor("pem_ca_bundle", { trustStorePath: join(closed, "ca.pem") }), join(closed, "ca.pem"));
    await expectRefused(agent, policy, anchor("ssl_cert_file_env", { envFilePath: join(open, "profile.pem") }), join(open, "profile.pem"));
    await expectRefused(agent, policy, anchor("curl_ca_bundle", { certFileName: ".bashrc" }), join(agent.host.home, ".bashrc"));
    await expectRefused(agent, policy, anchor("java_cacerts", { alias: "x", trustStorePath: join(closed, "cacerts") }), join(closed, "cacerts"));
    await expectRefused(agent, policy, anchor("nss_shared_db", { alias: "x", trustStorePath: closed }), `writing into ${closed}`);
    for (const trustStoreType of ["docker_certs_d", "podman_certs_d", "containerd_certs_d"] as const)
      await expectRefused(agent, policy, anchor(trustStoreType, { trustStorePath: closed, alias: "x" }), `writing into ${closed}`);
    expect(await agent.pass(anchor("openssl_ca_dir", { trustStorePath: open, alias: "corp" }), under(policy))).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("a way up is no path, and is answered before the policy", async () => {
    const agent = await newKnowingHost(parties);
    const before = placesOf(agent);
    for (const trustStorePath of ["/etc/docker/certs.d/../../cron.d", "/etc/docker/certs.d/.."])
      expect(await agent.pass(anchor("docker_certs_d", { trustStorePath, alias: "x" }), under({ directories: ["/"] }))).toMatchObject({ state: "failed" });
    expect(placesOf(agent)).toEqual(before);
    agent.remove();
  });

  test("reads no secret by a password, reaches no server by a verification, acts for no other account", async () => {
    const agent = await newKnowingHost(parties);
    const secret = agent.pathOf("shadow");
    writeFileSync(secret, "root:$6$secret\n");
    const store = { alias: "corp", trustStorePath: agent.pathOf("store.p12") };
    const policy: Policy = { directories: [agent.directory] };
    for (const storePasswordRef of [`file:${secret}`, `file:/${secret}`, "env:HOME"])
      await expectRefused(agent, policy, anchor("java_keystore_pkcs12", { ...store, storePasswordRef }), `reading a password from ${storePasswordRef}`);
    await expectRefused(agent, policy, anchor("nss_shared_db", { alias: "corp", dbUser: "nobody" }), "acting in the name of nobody");

    let calls = 0;
    const listener = createServer((socket) => {
      calls++;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await new Promise((ready) => listener.once("listening", ready));
    const { port } = listener.address() as { port: number };
    const probe = (verifyEndpoint: string, more: Config = {}) =>
      anchor("openssl_ca_dir", { trustStorePath: agent.pathOf("certs"), alias: "corp", verifyEndpoint, ...more });
    await expectRefused(agent, policy, probe(`tls://0.0.0.0:${port}`), `connecting to 0.0.0.0:${port}`);
    await expectRefused(agent, policy, probe("https://169.254.169.254"), "connecting to 169.254.169.254:443");
    expect(await agent.pass(probe(`tls://127.0.0.1:${port}`, { verifyServerName: "x' to='evil" }), under(policy))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("config.verifyServerName must be the name or address of a server"),
    });
    expect(calls).toBe(0);
    expect(await agent.pass(probe(`tls://127.0.0.1:${port}`), under(policy))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("cannot be verified"),
    });
    expect(calls).toBeGreaterThan(0);
    listener.close();
    agent.remove();
  });

  test("brings no private key, opens none to others, gives none away", async () => {
    const agent = await newKnowingHost(parties);
    const tls = agent.pathOf("tls");
    mkdirSync(tls);
    const policy: Policy = { directories: [tls] };
    const host = withPrograms(agent, { nginx: "exit 0" });
    await expectRefused(agent, policy, server({ trustStorePath: tls }), "its private key");
    const open: Policy = { ...policy, privateKeys: true };
    for (const keyPermissionMode of ["0644", "0666", "4600", "0660"])
      await expectRefused(agent, open, server({ trustStorePath: tls, keyPermissionMode }), `the mode ${keyPermissionMode}`);
    await expectRefused(agent, open, server({ trustStorePath: tls, fileOwner: "nobody" }, { trustStoreType: "pem_files" }), "giving files to nobody");
    expect(await agent.pass(server({ trustStorePath: tls }), { ...under(open), host })).toMatchObject({ state: "installed" });
    expect(statSync(join(tls, "tls.key")).mode & 0o777).toBe(0o600);
    agent.remove();
  });

  test("puts nothing but certificates and keys into a file", async () => {
    const agent = await newKnowingHost(parties);
    const tls = agent.pathOf("tls");
    mkdirSync(tls);
    const policy: Policy = { directories: [tls], privateKeys: true };
    const host = withPrograms(agent, { nginx: "exit 0" });
    const evil = "\n* * * * * root touch /tmp/proof\n";
    const item = server({ trustStorePath: tls });
    const poisoned = {
      ...item,
      pem: `${evil}${item.pem}${evil}`,
      chain: item.chain.map((each) => evil + each + evil),
      privateKeyPem: `${evil}${item.privateKeyPem}${evil}`,
    };
    expect(await agent.pass(poisoned, { ...under(policy), host })).toMatchObject({ state: "installed" });
    for (const name of ["tls.crt", "tls.key"]) expect(readFileSync(join(tls, name), "utf8")).not.toContain("proof");
    expect(await agent.pass(item, { ...under(policy), host })).toMatchObject({ state: "installed" });
    for (const privateKeyPem of [evil, `-----BEGIN PRIVATE KEY-----${evil}-----END PRIVATE KEY-----\n`])
      expect(await agent.pass({ ...item, version: 2, privateKeyPem }, { ...under(policy), host })).toMatchObject({
        state: "failed",
        message: "What the server sent as a private key is none in PEM.",
      });
    agent.remove();
  });
});

test("what is to be removed and was never installed here is not even looked for where the host does not permit it", async () => {
  const agent = await newKnowingHost(parties);
  const venv = agent.pathOf("venv");
  mkdirSync(join(venv, "bin"), { recursive: true });
  writeFileSync(join(venv, "bin/python"), `#!/bin/sh\ntouch ${agent.pathOf("proof")}\n`, { mode: 0o755 });
  const { host, state } = agent;
  const work = { host, state, log: createLog("silent"), clock: () => new Date(), isDryRun: false, ignoreBackoff: true };
  const lost = anchor("python_certifi", { pythonVenvPath: venv });
  expect(await observeRemoved(lost, { ...work, ...under({}) })).toEqual(refusal(`running the Python of ${venv}`));
  expect(existsSync(agent.pathOf("proof"))).toBe(false);
  await observeRemoved(lost, { ...work, ...under({ pythonVenvs: [venv] }) });
  expect(existsSync(agent.pathOf("proof"))).toBe(true);
  agent.remove();
});

describe("a policy that changes", () => {
  test("narrower: what is installed stays as it is, unhealed and reported; its program does not run at the removal either, until it is permitted again", async () => {
    const agent = await newKnowingHost(parties);
    const store = agent.pathOf("certs");
    const reloadCommand = ["sh", "-c", `echo ran >>${agent.pathOf("runs")}`];
    const item = anchor("openssl_ca_dir", { trustStorePath: store, alias: "corp", reloadCommand });
    const open: Policy = { directories: [store], reloads: [reloadCommand] };
    expect(await agent.pass(item, under(open))).toMatchObject({ state: "installed" });
    const after = placesOf(agent);
    expect(await agent.pass(item, under({ reloads: [reloadCommand] }))).toEqual(refusal(`writing into ${store}`));
    expect(await agent.withdraw(item, under({}))).toEqual(refusal("running sh -c"));
    expect(placesOf(agent)).toEqual(after);
    expect(await agent.withdraw(item, under({ reloads: [reloadCommand] }))).toEqual({ state: "removed" });
    expect(existsSync(join(store, "corp.pem"))).toBe(false);
    expect(readFileSync(agent.pathOf("runs"), "utf8")).toBe("ran\nran\n");
    agent.remove();
  });

  test("wider: what was refused is installed at the next pass, not after a wait", async () => {
    const agent = await newKnowingHost(parties);
    const store = agent.pathOf("certs");
    const item = anchor("openssl_ca_dir", { trustStorePath: store, alias: "corp" });
    expect(await agent.pass(item, { ...under({}), ignoreBackoff: false })).toEqual(refusal(`policy allow --directory ${store}`));
    expect(await agent.pass(item, { ...under({ directories: [store] }), ignoreBackoff: false })).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("another place: the first is left by programs that are permitted alone", async () => {
    const agent = await newKnowingHost(parties);
    writeFileSync(agent.pathOf("password"), "changeit\n");
    const config = { alias: "corp", storePasswordRef: `file:${agent.pathOf("password")}` };
    const [one, two] = [agent.pathOf("one.p12"), agent.pathOf("two.p12")];
    const item = anchor("java_keystore_pkcs12", { ...config, trustStorePath: one });
    const policy: Policy = { files: [one, two], passwords: [config.storePasswordRef] };
    expect(await agent.pass(item, under(policy))).toMatchObject({ state: "installed" });
    const moved = { ...item, version: 2, config: { alias: "corp", trustStorePath: two, storePasswordRef: "env:OTHER" } };
    const other: Policy = { files: [one, two], passwords: ["env:OTHER"] };
    const host = { ...agent.host, environment: { ...agent.host.environment, OTHER: "changeit" } };
    const before = placesOf(agent);
    expect(await agent.pass(moved, { ...under(other), host })).toEqual(refusal(`reading a password from ${config.storePasswordRef}`));
    expect(placesOf(agent)).toEqual(before);
    const both: Policy = { ...policy, passwords: [config.storePasswordRef, "env:OTHER"] };
    expect(await agent.pass(moved, { ...under(both), host })).toMatchObject({ state: "installed" });
    agent.remove();
  });
});

test("a directory that is not there yet, above which a link leads elsewhere, is judged by where it would be", async () => {
  const agent = await newAgentHost();
  const real = agent.pathOf("real");
  mkdirSync(real);
  chmodSync(dirname(real), 0o711);
  symlinkSync(real, agent.pathOf("link"));
  const item = anchor("openssl_ca_dir", { trustStorePath: agent.pathOf("link/new/deep"), alias: "corp" });
  await expectRefused(agent, { directories: [agent.pathOf("link")] }, item, `which leads to ${join(real, "new/deep")}`);
  expect(await agent.pass(item, under({ directories: [real] }))).toMatchObject({ state: "installed" });
  symlinkSync(agent.pathOf("nowhere"), agent.pathOf("dangling"));
  const lost = anchor("openssl_ca_dir", { trustStorePath: agent.pathOf("dangling/x"), alias: "corp" });
  expect(await agent.pass(lost, under({ directories: ["/"] }))).toMatchObject({
    state: "failed",
    message: expect.stringContaining("is a link that leads nowhere"),
  });
  agent.remove();
});
