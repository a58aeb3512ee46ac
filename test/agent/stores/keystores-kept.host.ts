import { afterAll, afterEach, beforeAll, beforeEach, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, statSync, utimesSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired } from "../../support/agent/agent-host";
import { newOwnedHost } from "../../support/agent/owned-host";
import { type OwnedServer, startOwnedServer } from "../../support/agent/owned-server";
import { newAuthority } from "../../support/pki/authority";

setDefaultTimeout(300_000);

const PASSWORD = "not the shipped one";

let authority: Awaited<ReturnType<typeof newAuthority>>;
let server: OwnedServer;
let host: Awaited<ReturnType<typeof newOwnedHost>>;
let item: Desired;
beforeAll(async () => {
  authority = await newAuthority();
  server = startOwnedServer();
});
afterAll(() => {
  server.stop();
  authority.remove();
});
beforeEach(async () => {
  host = await newOwnedHost(server);
  writeFileSync(host.pathOf("password"), `${PASSWORD}\n`, { mode: 0o600 });
  await begin(`file:${host.pathOf("password")}`);
});
afterEach(() => host.remove());

/** The keystore is made by the agent. */
async function begin(storePasswordRef: string) {
  host.setPolicy({ files: [host.pathOf("trust.p12")], passwords: [storePasswordRef] });
  item = desired(authority.root, {
    trustStoreType: "java_keystore_pkcs12",
    config: { trustStorePath: host.pathOf("trust.p12"), alias: "corp", storePasswordRef },
  });
  server.send({ items: [item] });
  await host.pass({ STORE_PASSWORD: PASSWORD });
  expect(server.lastReport(item.id)).toMatchObject({ state: "installed" });
}

/** How often the real agent runs keytool in one pass of a process of its own. */
async function runsInPass() {
  const { programs } = await host.pass({ STORE_PASSWORD: PASSWORD });
  return programs.filter(({ argv, isStarted }) => isStarted && argv[0] === "keytool").length;
}
const kept = () => readFileSync(host.pathOf("state/keystores.json"), "utf8");

test("an unchanged keystore is not read again by the agent's next process: keytool does not run", async () => {
  expect(await runsInPass()).toBe(0);
  expect(await runsInPass()).toBe(0);
  const { stdout, programs } = await host.agent(["status", "--json", "--state-dir", host.pathOf("state"), "--policy", host.pathOf("policy.json")]);
  expect(JSON.parse(stdout).assignments).toMatchObject([{ state: "holds" }]);
  expect(programs.filter(({ argv }) => argv[0] === "keytool")).toEqual([]);
});

test("anything that differs has it read again: content, time, the password's file; a wrong password opens nothing that was read before", async () => {
  const [keystore, password] = [host.pathOf("trust.p12"), host.pathOf("password")];
  const { atime, mtime } = statSync(keystore);
  const bytes = readFileSync(keystore);
  utimesSync(keystore, atime, new Date(mtime.getTime() + 1_000));
  expect(await runsInPass()).toBe(1);
  expect(await runsInPass()).toBe(0);
  writeFileSync(keystore, bytes); // the same content, at the same time by its clock
  utimesSync(keystore, atime, mtime);
  expect(await runsInPass()).toBe(1);
  writeFileSync(password, `${PASSWORD}\n`);
  expect(await runsInPass()).toBe(1);
  const mixed = Buffer.from(bytes);
  mixed[bytes.length - 10] = (mixed[bytes.length - 10] ?? 0) ^ 1;
  writeFileSync(keystore, mixed);
  expect(await runsInPass()).toBeGreaterThan(0);
  expect(server.lastReport(item.id)).toMatchObject({ state: "failed" });
  writeFileSync(keystore, bytes);
  await runsInPass();
  writeFileSync(password, "another one\n");
  expect(await runsInPass()).toBeGreaterThan(0);
  expect(server.lastReport(item.id)).toMatchObject({ state: "failed", message: expect.stringContaining("The password does not open") });
});

test("what is kept says nothing of the password, and one from a variable has nothing kept", async () => {
  expect(JSON.parse(kept()).stores).toMatchObject([{ store: host.pathOf("trust.p12"), entries: [{ name: "corp", kind: "trustedCertEntry" }] }]);
  expect(kept()).not.toContain(PASSWORD);
  expect(statSync(host.pathOf("state/keystores.json")).mode & 0o777).toBe(0o600);
  await begin("env:STORE_PASSWORD");
  expect(JSON.parse(kept()).stores).toEqual([]);
  expect(await runsInPass()).toBe(1);
});

test("a damaged file is like none, and one of another form too", async () => {
  const good = kept();
  for (const text of ["", "{", "[]", good.replace('"version":1', '"version":2'), good.replace('"corp"', "7")]) {
    writeFileSync(host.pathOf("state/keystores.json"), text);
    expect(await runsInPass()).toBe(1);
    expect(kept()).toBe(good);
  }
});
