import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { desired, desiredServer } from "../../support/agent/agent-host";
import { until, withPrograms } from "../../support/agent/observing";
import { issueFor, keyRequest } from "../../support/agent/own-keys";
import { newToolHost } from "../../support/agent/program-stores";
import { newParties, put } from "../../support/agent/store-behaviour";
import { type AgentHost, runs } from "../../support/pki/tls-clients";
import { endServers, freePort, presentedAt, startListening } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const MODULE = "/usr/lib/softhsm/libsofthsm2.so";
const parties = await newParties();
const { authority, known, server, knownServer } = parties;
afterAll(async () => {
  endServers();
  await parties.end();
});

/** A host with a token of SoftHSM, and a certificate of its operator in it. */
async function newTokenHost() {
  const agent = await newToolHost({ TOKEN_PIN: "1234", WRONG_PIN: "4321" });
  const { home } = agent.host;
  mkdirSync(agent.pathOf("tokens"));
  put(`${home}/.config/softhsm2/softhsm2.conf`, `directories.tokendir = ${agent.pathOf("tokens")}\nobjectstore.backend = file\nlog.level = ERROR\n`);
  const tool = (...args: string[]) => runs(["pkcs11-tool", "--module", MODULE, "--login", "--pin", "1234", ...args], { HOME: home });
  await runs(["softhsm2-util", "--init-token", "--free", "--label", "scratch", "--so-pin", "12345678", "--pin", "1234"], { HOME: home });
  put(agent.pathOf("theirs.pem"), known.intermediate.pem);
  await tool("--write-object", agent.pathOf("theirs.pem"), "--type", "cert", "--label", "theirs", "--id", "0a");
  /** In an order of their own: the token has none. */
  const objects = async () => (await tool("--list-objects")).stdout.split(/^(?=\S[^\n]* Object;)/m).toSorted();
  return { agent, tool, objects, before: await objects() };
}

const item = (alias: string, config = {}) =>
  desired(authority.root, { trustStoreType: "pkcs11_token", config: { trustStorePath: MODULE, storePasswordRef: "env:TOKEN_PIN", alias, ...config } });

/** stunnel, which finds its certificates and authorities in the token by OpenSSL's engine for PKCS #11. */
async function startStunnel({ host, pathOf }: AgentHost, service: string) {
  const port = await freePort();
  const file = pathOf(`stunnel-${port}.conf`);
  const engine = `engine = pkcs11\nengineCtrl = MODULE_PATH:${MODULE}\nengineCtrl = PIN:1234\nengineCtrl = INIT\n`;
  writeFileSync(file, `foreground = yes\npid =\n${engine}[scratch]\nengineId = pkcs11\naccept = 127.0.0.1:${port}\n${service}`);
  const { stop } = await startListening(["stunnel4", file], port, { environment: { HOME: host.home } });
  return { port, stop };
}

/** Whether stunnel, with the authority of this label alone, connects to a server; false too where the token has none. */
async function trusts(agent: AgentHost, alias: string, port: number) {
  const service = `client = yes\nconnect = 127.0.0.1:${port}\nverifyChain = yes\nCAengine = pkcs11:token=scratch;object=${alias};type=cert\n`;
  const stunnel = await startStunnel(agent, service).catch(({ message }: Error) => message);
  if (typeof stunnel === "string") {
    expect(stunnel).toMatch(/CAengine|object not found|Error loading/i);
    return false;
  }
  const { stdout } = await runs(["curl", "--silent", `http://127.0.0.1:${stunnel.port}/`]);
  await stunnel.stop();
  return stdout === "trusted";
}

describe("pkcs11_token", () => {
  test("an anchor: stunnel refuses before and trusts after, drift is healed, another takes its place; the operator's objects stay", async () => {
    const { agent, tool, objects, before } = await newTokenHost();
    const anchor = item("corp");
    const trusted = async () => [await trusts(agent, "corp", server.port), await trusts(agent, "corp", knownServer.port)];
    expect(await trusted()).toEqual([false, false]);
    expect(await agent.pass(anchor)).toMatchObject({ state: "installed" });
    expect(await trusted()).toEqual([true, false]);
    const counting = withPrograms(agent, { "pkcs11-tool": 'exec /usr/bin/pkcs11-tool "$@"' });
    expect(await agent.pass(anchor, { host: { ...agent.host, environment: { ...agent.host.environment, ...counting.environment } } })).toMatchObject({
      state: "installed",
    });
    expect(readFileSync(agent.pathOf("calls"), "utf8").match(/^pkcs11-tool /gm)).toHaveLength(1);
    await tool("--delete-object", "--type", "cert", "--label", "corp");
    expect(await agent.pass(anchor)).toMatchObject({ state: "drifted", message: expect.stringContaining("has no certificate corp") });
    const { pem, fingerprint } = known.root;
    const renewed = { ...anchor, version: 2, pem, fingerprintSha256: fingerprint };
    const after = await objects();
    const failing = { ...renewed, config: { ...renewed.config, reloadCommand: ["false"] } };
    expect(await agent.pass(failing)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back: the store is as it was.") });
    expect(await objects()).toEqual(after);
    expect(await agent.pass({ ...renewed, version: 3 })).toMatchObject({ state: "installed" });
    expect(await trusted()).toEqual([false, true]);
    expect(await agent.withdraw(anchor)).toEqual({ state: "removed" });
    expect(await objects()).toEqual(before);
    agent.remove();
  });

  test("a server's certificate belongs to the key that was made in the token, and stunnel presents it", async () => {
    const { agent, tool, objects } = await newTokenHost();
    const leaf = await authority.issueServer("good.test");
    put(agent.pathOf("key.pem"), leaf.privateKeyPem);
    await tool("--write-object", agent.pathOf("key.pem"), "--type", "privkey", "--label", "site", "--id", "0b");
    const before = await objects();
    const certificate = desiredServer(leaf, { trustStoreType: "pkcs11_token", config: item("site").config, includePrivateKey: false, privateKeyPem: null });
    expect(await agent.pass(certificate)).toMatchObject({ state: "installed", observedFingerprint: leaf.fingerprint });
    const place = "pkcs11:token=scratch;object=site";
    const stunnel = await startStunnel(agent, `exec = /bin/cat\nexecArgs = cat\ncert = ${place};type=cert\nkey = ${place};type=private\n`);
    await until(async () => expect((await presentedAt(stunnel.port))[0]).toBe(leaf.fingerprint));
    await stunnel.stop();
    expect(await agent.withdraw(certificate)).toEqual({ state: "removed" });
    expect(await objects()).toEqual(before);
    agent.remove();
  });

  test.each([
    ["ecdsa-p256", "EC:prime256v1"],
    ["rsa-2048", "rsa:2048"],
  ] as const)(
    "a key that was made in the token signs the request there: %s; stunnel presents the certificate, and the renewed one",
    async (algorithm, type) => {
      const { agent, tool, objects } = await newTokenHost();
      await tool("--keypairgen", "--key-type", type, "--label", "site", "--id", "0b");
      const before = await objects();
      const id = crypto.randomUUID();
      const place = { id, trustStoreType: "pkcs11_token" as const, config: item("site").config };
      for (const version of [1, 2]) {
        const certificate = await issueFor(agent, authority, keyRequest(place, { algorithm }), { version });
        expect(await agent.pass(certificate)).toEqual({ state: "installed", observedFingerprint: certificate.fingerprintSha256 });
        const at = "pkcs11:token=scratch;object=site";
        const stunnel = await startStunnel(agent, `exec = /bin/cat\nexecArgs = cat\ncert = ${at};type=cert\nkey = ${at};type=private\n`);
        await until(async () => expect((await presentedAt(stunnel.port))[0]).toBe(certificate.fingerprintSha256));
        await stunnel.stop();
        if (version === 2) expect(await agent.withdraw(certificate)).toEqual({ state: "removed" });
      }
      expect(await objects()).toEqual(before);
      const { faults } = await agent.answer([keyRequest(place, { algorithm: "rsa-4096" }), keyRequest({ ...place, config: item("other").config })]);
      expect(faults).toEqual([
        { state: "failed", message: expect.stringContaining(`The key that lies there is ${algorithm}, and the certificate is to be for rsa-4096.`) },
        { state: "failed", message: expect.stringContaining("has no private key other") },
      ]);
      agent.remove();
    },
  );

  test("failed, and nothing is written: a wrong PIN, an operator's certificate, a private key, no key in the token, no token", async () => {
    const { agent, objects, before } = await newTokenHost();
    const leaf = await authority.issueServer("good.test");
    const { config } = item("site");
    for (const [each, words] of [
      [item("corp", { storePasswordRef: "env:WRONG_PIN" }), /The PIN does not open the token/],
      [item("theirs"), /has a certificate theirs already, and not by this agent/],
      [desiredServer(leaf, { trustStoreType: "pkcs11_token", config }), /A private key is made in the token and never leaves it/],
      [desiredServer(leaf, { trustStoreType: "pkcs11_token", config, includePrivateKey: false, privateKeyPem: null }), /has no private key site/],
    ] as const)
      expect(await agent.pass(each)).toMatchObject({ state: "failed", message: expect.stringMatching(words) });
    expect(await objects()).toEqual(before);
    put(`${agent.host.home}/.config/softhsm2/softhsm2.conf`, `directories.tokendir = ${agent.pathOf("tmp")}\n`);
    expect(await agent.pass(item("corp"))).toMatchObject({ state: "failed", message: expect.stringContaining("has 0 initialized tokens") });
    agent.remove();
  });
});
