import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fingerprintOf } from "#agent/host/pem";
import { desired, desiredServer } from "../support/agent/agent-host";
import { newOwnedHost } from "../support/agent/owned-host";
import { type OwnedServer, startOwnedServer } from "../support/agent/owned-server";
import { newAuthority } from "../support/pki/authority";
import { constrained } from "../support/pki/constrained";
import { runs } from "../support/pki/tls-clients";

setDefaultTimeout(300_000);

let own: Awaited<ReturnType<typeof newAuthority>>;
let evil: Awaited<ReturnType<typeof newAuthority>>;
let server: OwnedServer;
beforeAll(async () => {
  [own, evil] = await Promise.all([newAuthority(), newAuthority()]);
  server = startOwnedServer();
});
afterAll(() => {
  server.stop();
  own.remove();
  evil.remove();
});

test("an owned server has no host trust its own authority where the policy names the organization's root: not by itself, a forged chain, another material or store", async () => {
  const host = await newOwnedHost(server);
  const directory = host.pathOf("certs");
  mkdirSync(directory);
  const rest = { directories: [directory], privateKeys: true };
  host.setPolicy({ ...rest, anchors: [`signed-by:${own.root.fingerprint} stores:openssl_ca_dir`] });
  const store = { trustStoreType: "openssl_ca_dir", config: { trustStorePath: directory, alias: "corp" } } as const;
  const bundle = { trustStoreType: "pem_ca_bundle", config: { trustStorePath: `${directory}/bundle.pem` } } as const;
  const besideOwn = { ...evil.root, chain: [own.root.pem] };
  for (const item of [
    desired(evil.root, store),
    desired(besideOwn, store),
    desired({ ...evil.intermediate, chain: [own.root.pem] }, store),
    desired({ ...evil.intermediate, chain: [own.intermediate.pem, own.root.pem] }, { ...store, materialType: "intermediate_ca" }),
    desiredServer(evil.root, { trustStoreType: "pem_files", config: { trustStorePath: directory, certFileName: "ca.crt", keyFileName: "ca.key" } }),
    desired(own.root, bundle),
  ]) {
    server.send({ items: [item] });
    const { programs } = await host.pass();
    const consent = `policy allow --policy ${host.pathOf("policy.json")} --anchor 'sha256:${item.fingerprintSha256} stores:${item.trustStoreType}'`;
    expect(server.lastReport(item.id)).toMatchObject({ state: "refused", message: expect.stringMatching(new RegExp(`${consent}$`)) });
    expect(programs).toEqual([]);
  }
  for (const [each, alias] of [
    [own.root, "root"],
    [own.intermediate, "issuing"],
  ] as const) {
    const item = desired(each, { ...store, config: { ...store.config, alias } });
    server.send({ items: [item] });
    await host.pass();
    expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
    expect(existsSync(`${directory}/${alias}.pem`)).toBe(true);
  }
  host.remove();
});

test("the command that ends a refusal permits exactly this authority; a policy that is narrowed later leaves what is installed, and refuses it", async () => {
  const host = await newOwnedHost(server);
  host.setPolicy({ directories: [host.pathOf("certs")], anchors: [] });
  const item = desired(own.root, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: host.pathOf("certs"), alias: "corp" } });
  server.send({ items: [item] });
  await host.pass();
  const { message = "" } = server.lastReport(item.id) ?? {};
  const [, consent = ""] = /permits it by: .*?(policy allow .*)$/.exec(message) ?? [];
  const [, , ...words] = consent.replaceAll("'", "").split(" ");
  const policy = words.slice(0, 2);
  expect((await host.agent(["policy", "allow", ...policy, "--anchor", words.slice(3).join(" ")])).code).toBe(0);
  await host.pass();
  expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
  expect((await host.agent(["policy", "revoke", ...policy, "--anchor", words.slice(3).join(" ")])).code).toBe(0);
  await host.pass();
  expect(server.lastReport(item.id)).toMatchObject({ state: "refused" });
  expect(existsSync(host.pathOf("certs/corp.pem"))).toBe(true);
  host.remove();
});

test("refused: a server's or client's own certificate in a keystore of Java, which trusts it by itself, with its key or without", async () => {
  const host = await newOwnedHost(server);
  const directory = host.pathOf("java");
  const storePasswordRef = `file:${host.pathOf("password")}`;
  mkdirSync(directory);
  writeFileSync(host.pathOf("password"), "changeit\n", { mode: 0o600 });
  host.setPolicy({
    directories: [directory],
    files: [`${directory}/app.p12`],
    passwords: [storePasswordRef],
    privateKeys: true,
    anchors: [`signed-by:${own.root.fingerprint}`],
  });
  const [stranger, ours] = await Promise.all([evil.issueServer("bank.test"), own.issueServer("app.test")]);
  const store = { trustStoreType: "java_keystore_pkcs12", config: { trustStorePath: `${directory}/app.p12`, alias: "app", storePasswordRef } } as const;
  for (const item of [
    desired(stranger, { ...store, materialType: "server_certificate" }),
    desired(stranger, { ...store, materialType: "client_certificate" }),
    desiredServer(stranger, store),
  ]) {
    server.send({ items: [item] });
    const { programs } = await host.pass();
    const message = expect.stringContaining(`--anchor 'sha256:${stranger.fingerprint} stores:java_keystore_pkcs12'`);
    expect(server.lastReport(item.id)).toMatchObject({ state: "refused", message });
    expect([programs, existsSync(`${directory}/app.p12`)]).toEqual([[], false]);
  }
  const item = desiredServer(ours, store);
  server.send({ items: [item] });
  await host.pass();
  expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
  host.remove();
});

test("refused: an authority that is confined by its names alone, in a store of Java, which takes no notice of them", async () => {
  const host = await newOwnedHost(server);
  host.setPolicy({ directories: [host.directory], anchors: ["names:corp.example,10.0.0.0/8"] });
  const { pem } = constrained({ nameConstraints: "critical,permitted;DNS:corp.example,permitted;IP:10.0.0.0/255.0.0.0" });
  const fingerprint = fingerprintOf(pem);
  const confined = { pem, fingerprint, chain: [] };
  const java = desired(confined, { trustStoreType: "java_cacerts", config: { trustStorePath: host.pathOf("cacerts.jks"), alias: "corp" } });
  const files = desired(confined, { trustStoreType: "openssl_ca_dir", config: { trustStorePath: host.pathOf("certs"), alias: "corp" } });
  server.send({ items: [java, files] });
  await host.pass();
  expect(server.lastReport(java.id)).toMatchObject({
    state: "refused",
    message: expect.stringContaining(`--anchor 'sha256:${fingerprint} stores:java_cacerts'`),
  });
  expect(server.lastReport(files.id)).toMatchObject({ state: "installed" });
  host.remove();
});

test("failed: a server's certificate takes the place of no file of authorities, whatever intermediates it brings; only of a certificate that has its key beside it", async () => {
  const host = await newOwnedHost(server);
  const directory = host.pathOf("tls");
  mkdirSync(directory);
  const clients = `${directory}/clients.crt`;
  writeFileSync(clients, own.root.pem + own.intermediate.pem);
  host.setPolicy({ directories: [directory], privateKeys: true, reloads: [["true"]] });
  const stranger = await evil.issueServer("bank.test");
  const config = { trustStorePath: directory, certFileName: "clients.crt", keyFileName: "server.key", reloadCommand: ["true"] };
  for (const trustStoreType of ["pem_files", "nginx_tls"] as const) {
    const item = desiredServer(stranger, { trustStoreType, config });
    server.send({ items: [item] });
    await host.pass();
    const message = expect.stringContaining(`${clients} holds authorities, whose place a server's own certificate does not take`);
    expect(server.lastReport(item.id)).toMatchObject({ state: "failed", message });
    expect([readFileSync(clients, "utf8"), existsSync(`${directory}/server.key`)]).toEqual([own.root.pem + own.intermediate.pem, false]);
  }
  const former = ["-keyout", `${directory}/own.key`, "-out", `${directory}/own.crt`];
  await runs(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=own.test", ...former]);
  const item = desiredServer(stranger, { trustStoreType: "pem_files", config: { ...config, certFileName: "own.crt", keyFileName: "own.key" } });
  server.send({ items: [item] });
  await host.pass();
  expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
  host.remove();
});
