import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { permittedCall } from "#agent/host/arguments";
import type { Desired } from "#agent/server-client";
import { sha256 } from "#crypto/sha256";
import { toPem } from "#x509/der-writer";
import { desired, desiredServer, newAgentHost, withScratchSystem } from "../support/agent/agent-host";
import { newOwnedHost } from "../support/agent/owned-host";
import { type OwnedServer, startOwnedServer } from "../support/agent/owned-server";
import { type Issued, newAuthority } from "../support/pki/authority";

setDefaultTimeout(300_000);

let authority: Awaited<ReturnType<typeof newAuthority>>;
let leaf: Issued;
let server: OwnedServer;
beforeAll(async () => {
  authority = await newAuthority();
  leaf = await authority.issueServer("leaf.test");
  server = startOwnedServer();
});
afterAll(() => {
  server.stop();
  authority.remove();
});

/** Bytes that are no certificate, in PEM, with the fingerprint that a server would name. */
function arbitrary(label = "CERTIFICATE", bytes = crypto.getRandomValues(new Uint8Array(200))) {
  return { pem: toPem(label, bytes), fingerprint: sha256(bytes), chain: [] };
}

describe("failed, and nothing is written or run: what an owned server sends in the place of", () => {
  test("an anchor: 200 arbitrary bytes, a certificate that was cut short, a server's own", async () => {
    const host = await newOwnedHost(server);
    host.setPolicy({ directories: [host.pathOf("certs")] });
    const [block = ""] = authority.root.pem.split("\n-----END");
    const cut = Buffer.from(block.split("\n").slice(1).join(""), "base64").subarray(0, 300);
    const whole = [authority.root.pem, arbitrary().pem].join("");
    const stores = [
      ["openssl_ca_dir", { trustStorePath: host.pathOf("certs"), alias: "corp" }],
      ["pem_ca_bundle", { trustStorePath: host.pathOf("certs/bundle.pem") }],
    ] as const;
    for (const [trustStoreType, config] of stores)
      for (const [sent, words] of [
        [arbitrary(), /^The certificate that the server sent cannot be read: /],
        [arbitrary("CERTIFICATE", cut), /^The certificate that the server sent cannot be read: /],
        [{ ...authority.root, pem: whole }, /^The server sent 2 blocks in the place of one certificate/],
        [leaf, /^The certificate that the server sent as an anchor is no authority's/],
      ] as const) {
        const item = desired(sent, { trustStoreType, config });
        server.send({ items: [item] });
        const { code, programs } = await host.pass();
        expect({ code, report: server.lastReport(item.id) }).toMatchObject({ code: 1, report: { state: "failed", message: expect.stringMatching(words) } });
        expect([existsSync(host.pathOf("certs")), programs]).toEqual([false, []]);
      }
    host.remove();
  });

  test("a key: a program in base64, another certificate's, one with something behind it; a chain: arbitrary bytes", async () => {
    const host = await newOwnedHost(server);
    const directory = host.pathOf("tls");
    mkdirSync(directory);
    host.setPolicy({ directories: [directory], privateKeys: true, reloads: [["true"]] });
    const program = readFileSync("/sbin/reboot");
    const other = await authority.issueServer("other.test");
    const key = Buffer.from(leaf.privateKeyPem.split("\n").slice(1, -2).join(""), "base64");
    const item = desiredServer(leaf, { trustStoreType: "pem_files", config: { trustStorePath: directory, reloadCommand: ["true"] } });
    for (const [more, words] of [
      [{ privateKeyPem: toPem("PRIVATE KEY", program) }, "What the server sent as a private key is none in PEM."],
      [{ privateKeyPem: toPem("RSA PRIVATE KEY", program) }, "What the server sent as a private key is none in PEM."],
      [{ privateKeyPem: toPem("ENCRYPTED PRIVATE KEY", program) }, "What the server sent as a private key is none in PEM."],
      [{ privateKeyPem: toPem("PRIVATE KEY", Buffer.concat([key, program])) }, "What the server sent as a private key is none in PEM."],
      [{ privateKeyPem: other.privateKeyPem }, "The private key that the server sent is another certificate's."],
      [{ chain: [...leaf.chain, arbitrary().pem] }, expect.stringMatching(/^Certificate 3 of the chain that the server sent cannot be read: /)],
      [{ chain: [leaf.chain[0]?.replace(/\n/, "\n\n")] }, expect.stringMatching(/^Certificate 1 of the chain that the server sent cannot be read: /)],
    ] as [Partial<Desired>, unknown][]) {
      server.send({ items: [{ ...item, ...more }] });
      const { programs } = await host.pass();
      expect(server.lastReport(item.id)).toMatchObject({ state: "failed", message: words });
      expect([readdirSync(directory), programs]).toEqual([[], []]);
    }
    server.send({ items: [item] });
    await host.pass();
    expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
    host.remove();
  });
});

test("failed, and not read: a chain of more certificates than any has, so that no pass costs more than its certificates", async () => {
  const host = await newOwnedHost(server, { directories: ["/"], anchors: ["any"] });
  const config = { trustStorePath: host.pathOf("certs"), alias: "corp" };
  const item = desired(authority.root, { trustStoreType: "openssl_ca_dir", config });
  for (const chain of [Array.from({ length: 101 }, () => arbitrary().pem), [arbitrary().pem.repeat(101)]]) {
    server.send({ items: [{ ...item, chain }] });
    await host.pass();
    const message = "The server sent 101 certificates as one chain, and an agent reads 100. Remove those that do not belong to it.";
    expect(server.lastReport(item.id)).toMatchObject({ state: "failed", message });
  }
  server.send({ items: [{ ...item, chain: Array.from({ length: 100 }, () => authority.intermediate.pem) }] });
  await host.pass();
  expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
  host.remove();
});

describe("failed and rolled back: a bundle that OpenSSL cannot load whole", () => {
  test("the system's, where a file of another owner spoils it, or the tool cuts it short", async () => {
    const agent = await newAgentHost(withScratchSystem);
    const { system } = agent.host;
    const item = desired(authority.root, { trustStoreType: "linux_update_ca_certificates", config: { alias: "corp", trustStorePath: system.anchors } });
    const foreign = `${system.anchors}/foreign.crt`;
    writeFileSync(foreign, arbitrary().pem);
    const message = expect.stringMatching(
      /^OpenSSL, and with it whatever reads .*ca-certificates.crt, cannot load it: .*Rolled back: the store is as it was\.$/,
    );
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message });
    expect(readdirSync(system.anchors)).toEqual(["foreign.crt"]);
    writeFileSync(foreign, authority.intermediate.pem);
    const cutting = { ...system, update: permittedCall(["sh", "-c", `${system.update.join(" ")} && truncate --size=-200 ${system.bundle}`]) };
    expect(await agent.pass(item, { host: { ...agent.host, system: cutting } })).toMatchObject({ state: "failed" });
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });

  test("one of others, to which the agent adds a block", async () => {
    const agent = await newAgentHost();
    const bundle = agent.pathOf("bundle.pem");
    const spoiled = authority.intermediate.pem + arbitrary().pem;
    writeFileSync(bundle, spoiled);
    const item = desired(authority.root, { trustStoreType: "pem_ca_bundle", config: { trustStorePath: bundle } });
    expect(await agent.pass(item)).toMatchObject({ state: "failed", message: expect.stringContaining(`whatever reads ${bundle}, cannot load it`) });
    expect(readFileSync(bundle, "utf8")).toBe(spoiled);
    writeFileSync(bundle, authority.intermediate.pem);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    agent.remove();
  });
});
