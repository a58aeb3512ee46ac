import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { desired } from "../support/agent/agent-host";
import { newOwnedHost } from "../support/agent/owned-host";
import { type OwnedServer, startOwnedServer } from "../support/agent/owned-server";
import { newAuthority } from "../support/pki/authority";

setDefaultTimeout(300_000);

const MODULE = "/usr/lib/softhsm/libsofthsm2.so";

let authority: Awaited<ReturnType<typeof newAuthority>>;
let server: OwnedServer;
beforeAll(async () => {
  authority = await newAuthority();
  server = startOwnedServer();
});
afterAll(() => {
  server.stop();
  authority.remove();
});

type Host = Awaited<ReturnType<typeof newOwnedHost>>;
type Shown = { assignmentId: string; state: string; why: string | null };

async function statusOf(host: Host, ...more: string[]): Promise<{ programs: string[][]; shown: Shown[] }> {
  const { programs, stdout } = await host.agent(["status", "--json", "--state-dir", host.pathOf("state"), ...more]);
  return { programs: programs.map(({ argv }) => argv), shown: JSON.parse(stdout).assignments };
}

/** What a server asks that would run code of its choice as root, or hand a password over, where `status` looks into the store. */
function traps(host: Host) {
  copyFileSync(MODULE, host.pathOf("library.so"));
  writeFileSync(host.pathOf("password"), "secret\n", { mode: 0o600 });
  writeFileSync(host.pathOf("trust.p12"), "");
  mkdirSync(host.pathOf("venv/bin"), { recursive: true });
  writeFileSync(host.pathOf("venv/bin/python"), `#!/bin/sh\ntouch ${host.pathOf("ran")}\n`, { mode: 0o755 });
  const storePasswordRef = `file:${host.pathOf("password")}`;
  return [
    desired(authority.root, { trustStoreType: "pkcs11_token", config: { trustStorePath: host.pathOf("library.so"), alias: "corp", storePasswordRef } }),
    desired(authority.root, { trustStoreType: "java_keystore_pkcs12", config: { trustStorePath: host.pathOf("trust.p12"), alias: "corp", storePasswordRef } }),
    desired(authority.root, { trustStoreType: "python_certifi", config: { pythonVenvPath: host.pathOf("venv") } }),
  ];
}

test("refused: status runs no program, loads no library and hands over no password for a store that the policy does not permit", async () => {
  const host = await newOwnedHost(server);
  server.send({ items: traps(host) });
  await host.pass();
  const { programs, shown } = await statusOf(host);
  expect(programs).toEqual([]);
  expect(shown.map(({ state, why }) => [state, why])).toEqual(
    ["loading the library", "reading a password", "running the Python"].map((words) => ["refused", expect.stringContaining(words)]),
  );
  host.remove();
});

test("refused: what is installed is not looked into either once the policy permits it no more; without --policy by the file that the agent ran with", async () => {
  const host = await newOwnedHost(server, { directories: ["/"] });
  const item = desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { alias: "corp", trustStorePath: host.pathOf("certs") } });
  server.send({ items: [item] });
  await host.pass();
  expect((await statusOf(host)).shown).toMatchObject([{ state: "holds", why: null }]);
  host.setPolicy({});
  expect((await statusOf(host)).shown).toMatchObject([{ state: "refused", why: expect.stringContaining("writing into ") }]);
  expect((await statusOf(host, "--policy", host.pathOf("none.json"))).shown).toMatchObject([
    { state: "refused", why: expect.stringContaining("does not exist") },
  ]);
  expect(readFileSync(host.pathOf("certs/corp.pem"), "utf8")).toBe(authority.root.pem);
  host.remove();
});

test("what the policy permits now, though it was refused at the last pass, is looked into", async () => {
  const host = await newOwnedHost(server);
  const item = desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { alias: "corp", trustStorePath: host.pathOf("certs") } });
  server.send({ items: [item] });
  await host.pass();
  host.setPolicy({ directories: [host.directory] });
  expect((await statusOf(host)).shown).toMatchObject([{ state: "pending", why: expect.stringMatching(/does not exist|is missing/) }]);
  host.remove();
});

test("differs: what no agent can understand of one assignment; status shows it, and all others", async () => {
  const host = await newOwnedHost(server, { directories: ["/"] });
  const item = desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { alias: "corp", trustStorePath: host.pathOf("certs") } });
  const ids = Array.from({ length: 4 }, () => crypto.randomUUID());
  const odd = ids.map((id, index) => ({
    ...item,
    id,
    ...[{ config: undefined }, { config: null }, { config: { alias: {} } }, { commonName: { toString: 1 } }][index],
  }));
  server.send({ items: [...odd, item] });
  await host.pass();
  const { stdout, stderr } = await host.agent(["status", "--state-dir", host.pathOf("state")]);
  expect([stdout, stderr]).toEqual([expect.stringMatching(/^holds +openssl_ca_dir +corp /m), expect.stringContaining("4 of 5 do not hold.")]);
  const { shown } = await statusOf(host);
  expect(shown.map(({ assignmentId, state }) => [assignmentId, state])).toEqual([...ids.map((id) => [id, "differs"]), [item.id, "holds"]]);
  host.remove();
});
