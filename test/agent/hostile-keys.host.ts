import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { chownSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { presented } from "#agent/host/pem";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer, newAgentHost } from "../support/agent/agent-host";
import { holding } from "../support/agent/policies";
import { newAuthority } from "../support/pki/authority";
import type { AgentHost } from "../support/pki/tls-clients";

setDefaultTimeout(300_000);

type Authority = Awaited<ReturnType<typeof newAuthority>>;
type Leaf = Awaited<ReturnType<Authority["issueServer"]>>;

let authority: Authority;
let leaf: Leaf;
let other: Leaf;
beforeAll(async () => {
  authority = await newAuthority();
  [leaf, other] = await Promise.all([authority.issueServer("site.test"), authority.issueServer("other.test")]);
});
afterAll(() => authority.remove());

const wholeOf = ({ pem, chain, privateKeyPem }: Leaf) => presented(pem, chain).join("") + privateKeyPem;
/** A server's certificate without its key, as for a key that the operator keeps. */
const keyless = (trustStoreType: Desired["trustStoreType"], config: Desired["config"]) =>
  desired(leaf, { trustStoreType, materialType: "server_certificate", config: { reloadCommand: ["true"], ...config } });

/** A host with a file of its operator's, which permits all that the assignments here ask but other modes of keys. */
async function newHostWith(name: string, content: string | Uint8Array, { mode = 0o600, uid = 0, gid = 0 } = {}) {
  const agent = await newAgentHost();
  mkdirSync(agent.pathOf("tls"));
  const path = agent.pathOf("tls", name);
  writeFileSync(path, content, { mode });
  chownSync(path, uid, gid);
  const policy = holding({
    directories: [agent.directory],
    files: [agent.pathOf("tls", name)],
    privateKeys: true,
    passwords: [`file:${agent.pathOf("pin")}`],
    reloads: [["true"]],
    fileOwners: ["postgres", ":ssl-cert"],
  });
  const pass = (item: Desired) => agent.pass(item, { policy });
  return { agent, path, pass };
}

function attributesOf(path: string) {
  const { mode, uid, gid } = lstatSync(path);
  return [(mode & 0o7777).toString(8), uid, gid];
}

/** A certificate of the operator's own key, which is another than that of the assignment. */
const ownPair = () => other.pem + leaf.privateKeyPem;

describe("the operator's key in a file with its certificate", () => {
  test.each<[string, Desired["trustStoreType"], Desired["config"]]>([
    ["its mode", "haproxy_tls", { certFileName: "site.pem", keyPermissionMode: "0644" }],
    ["its mode", "pem_files", { combinedFileName: "site.pem", keyPermissionMode: "0644" }],
    ["its group", "pem_files", { combinedFileName: "site.pem", fileGroup: "www-data", keyPermissionMode: "0640" }],
    ["its owner", "pem_files", { combinedFileName: "site.pem", fileOwner: "postgres" }],
  ])("is opened to nobody by a config that changes %s in %s", async (_, storeType, config) => {
    const { agent, path, pass } = await newHostWith("site.pem", ownPair());
    const item = keyless(storeType, { trustStorePath: agent.pathOf("tls"), ...config });
    expect(await pass(item)).toMatchObject({ state: "installed" });
    expect(attributesOf(path)).toEqual(["600", 0, 0]);
    expect(readFileSync(path, "utf8")).toBe(wholeOf(leaf));
    expect(await pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("is closed where it was more open than the config says, and its file keeps its owner", async () => {
    const { agent, path, pass } = await newHostWith("site.pem", ownPair(), { mode: 0o644, gid: 33 });
    const item = keyless("pem_files", { trustStorePath: agent.pathOf("tls"), combinedFileName: "site.pem", keyPermissionMode: "0640", fileGroup: "ssl-cert" });
    expect(await pass(item)).toMatchObject({ state: "installed" });
    expect(attributesOf(path)).toEqual(["640", 0, 33]);
    agent.remove();
  });

  test("is as closed as before where the assignment brought a key once, and does so no more", async () => {
    const { agent, path, pass } = await newHostWith("site.pem", ownPair());
    const config = { trustStorePath: agent.pathOf("tls"), combinedFileName: "site.pem" };
    const brought = desiredServer(leaf, { trustStoreType: "pem_files", config });
    expect(await pass(brought)).toMatchObject({ state: "installed" });
    const kept = { ...keyless("pem_files", { ...config, keyPermissionMode: "0644", fileGroup: "www-data" }), id: brought.id, version: 2 };
    expect(await pass(kept)).toMatchObject({ state: "installed" });
    expect(attributesOf(path)).toEqual(["600", 0, 0]);
    agent.remove();
  });

  test("gives way to the assignment's own key, which has the mode and group of the config", async () => {
    const { agent, path, pass } = await newHostWith("site.pem", ownPair());
    const config = { trustStorePath: agent.pathOf("tls"), combinedFileName: "site.pem", keyPermissionMode: "0640", fileGroup: "www-data" };
    expect(await pass(desiredServer(leaf, { trustStoreType: "pem_files", config }))).toMatchObject({ state: "installed" });
    expect(attributesOf(path)).toEqual(["640", 0, 33]);
    agent.remove();
  });
});

describe("a file that holds a key, by whose name a certificate comes", () => {
  const DER = () => createPrivateKey(leaf.privateKeyPem).export({ type: "pkcs8", format: "der" });
  const JKS = () => Buffer.from("feedfeed00000002", "hex");

  test.each<[string, Desired["trustStoreType"], () => string | Uint8Array]>([
    ["in PEM", "nginx_tls", () => leaf.privateKeyPem],
    ["in PEM", "pem_files", () => leaf.privateKeyPem],
    ["in PEM, with its certificate", "pem_files", ownPair],
    ["in PEM, encrypted", "pem_files", () => leaf.privateKeyPem.replaceAll("PRIVATE", "ENCRYPTED PRIVATE")],
    ["in DER", "nginx_tls", DER],
    ["in a keystore", "pem_files", JKS],
  ])("%s is left as it is: %s", async (_, storeType, content) => {
    const { agent, path, pass } = await newHostWith("server.key", content());
    const before = readFileSync(path, "base64");
    const item = keyless(storeType, {
      trustStorePath: agent.pathOf("tls"),
      certFileName: "server.key",
      ...(storeType === "nginx_tls" && { keyFileName: "none.key" }),
    });
    expect(await pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("holds a private key") });
    expect([readFileSync(path, "base64"), ...attributesOf(path)]).toEqual([before, "600", 0, 0]);
    agent.remove();
  });

  test("is left as it is where the operator has put it in the place of the agent's certificate", async () => {
    const { agent, path, pass } = await newHostWith("site.crt", other.pem);
    const item = keyless("pem_files", { trustStorePath: agent.pathOf("tls"), certFileName: "site.crt" });
    expect(await pass(item)).toMatchObject({ state: "installed" });
    writeFileSync(path, wholeOf(other), { mode: 0o600 });
    expect(await pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining("holds a private key") });
    expect(readFileSync(path, "utf8")).toBe(wholeOf(other));
    agent.remove();
  });

  test("of another program's certificate in DER is none: it is taken over", async () => {
    const { agent, path, pass } = await newHostWith("site.crt", Buffer.from(other.pem.replace(/-----[^-]+-----/g, ""), "base64"), { mode: 0o644 });
    expect(await pass(keyless("pem_files", { trustStorePath: agent.pathOf("tls"), certFileName: "site.crt" }))).toMatchObject({ state: "installed" });
    expect(readFileSync(path, "utf8")).toBe(presented(leaf.pem, leaf.chain).join(""));
    agent.remove();
  });
});

describe("a keystore with the operator's key", () => {
  async function makeKeystore(agent: AgentHost) {
    const path = agent.pathOf("tls/store.p12");
    writeFileSync(agent.pathOf("pin"), "changeit\n", { mode: 0o600 });
    writeFileSync(agent.pathOf("pair.pem"), wholeOf(other), { mode: 0o600 });
    await Bun.$`openssl pkcs12 -export -name own -passout pass:changeit -in ${agent.pathOf("pair.pem")} -out ${path}`.quiet();
    await Bun.$`chmod 600 ${path}`;
    return path;
  }

  test("is opened to nobody by an anchor with another mode", async () => {
    const { agent, pass } = await newHostWith("note", "");
    const path = await makeKeystore(agent);
    const config = { trustStorePath: path, alias: "corp", storePasswordRef: `file:${agent.pathOf("pin")}`, keyPermissionMode: "0644" };
    const item = desired(authority.root, { trustStoreType: "java_keystore_pkcs12", config });
    expect(await pass(item)).toMatchObject({ state: "installed" });
    expect(attributesOf(path)).toEqual(["600", 0, 0]);
    expect(await pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("may be read by all where it holds anchors alone, and the config says so", async () => {
    const { agent, pass } = await newHostWith("note", "");
    writeFileSync(agent.pathOf("pin"), "changeit\n", { mode: 0o600 });
    const path = agent.pathOf("tls/trust.p12");
    const config = { trustStorePath: path, alias: "corp", storePasswordRef: `file:${agent.pathOf("pin")}`, keyPermissionMode: "0644" };
    expect(await pass(desired(authority.root, { trustStoreType: "java_keystore_pkcs12", config }))).toMatchObject({ state: "installed" });
    expect(attributesOf(path)).toEqual(["644", 0, 0]);
    agent.remove();
  });
});
