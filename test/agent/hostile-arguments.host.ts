import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import type { Policy } from "#agent/policy/policy";
import type { Desired } from "#agent/server-client";
import type { Target } from "#agent/store";
import { STORES } from "#agent/stores/stores";
import { beginTransaction } from "#agent/transaction/transaction";
import { createLog } from "#log/log";
import { configRulesOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { INSTALLABLE } from "#modules/fleet/trust-stores/rules/installable";
import { VALUES } from "#modules/fleet/trust-stores/rules/values";
import { desired, newAgentHost } from "../support/agent/agent-host";
import { stateOf } from "../support/agent/observing";
import { newOwnedHost } from "../support/agent/owned-host";
import { type OwnedServer, startOwnedServer } from "../support/agent/owned-server";
import { newAuthority } from "../support/pki/authority";

setDefaultTimeout(300_000);

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

const anchor = (trustStoreType: Desired["trustStoreType"], config: Desired["config"]) => desired(authority.root, { trustStoreType, config });
type OwnedHost = Awaited<ReturnType<typeof newOwnedHost>>;
/** Everything on the scratch host but for what the agent notes for itself. */
const placesOf = ({ directory }: OwnedHost) => stateOf(directory, (name) => !/^state(\/|$)/.test(name));

const PASSWORD = { CERTITUDE_TEST_PASSWORD: "changeit" };
const REFERENCE = "env:CERTITUDE_TEST_PASSWORD";

test("what an owned server sends counts, and what the host's policy permits is installed by the store's own tool", async () => {
  const host = await newOwnedHost(server);
  host.setPolicy({ directories: [host.directory], passwords: [REFERENCE] });
  const items = [
    anchor("openssl_ca_dir", { alias: "corp", trustStorePath: host.pathOf("certs") }),
    anchor("java_keystore_pkcs12", { alias: "corp", trustStorePath: host.pathOf("store.p12"), storePasswordRef: REFERENCE }),
  ];
  server.send({ items });
  const { code, programs } = await host.pass(PASSWORD);
  expect([code, ...items.map(({ id }) => server.lastReport(id)?.state)]).toEqual([0, "installed", "installed"]);
  const started = programs.filter(({ isStarted }) => isStarted).map(({ argv }) => argv);
  expect(started).toContainEqual(["openssl", "rehash", "."]);
  expect(started).toContainEqual(expect.arrayContaining(["-importcert", "-alias", "corp"]));
  expect(readFileSync(host.pathOf("certs/corp.pem"), "utf8")).toBe(authority.root.pem);
  host.remove();
});

describe("an owned server", () => {
  test.each(["java_keystore_pkcs12", "java_keystore_jks", "java_cacerts"] as const)("gives the JVM no option by an alias of %s", async (type) => {
    const host = await newOwnedHost(server);
    host.setPolicy({ directories: [host.directory], passwords: [REFERENCE] });
    const proof = host.pathOf("proof");
    const aliases = [
      `-J-Xlog:all:file=${proof}`,
      `-J-agentlib:jdwp=transport=dt_socket,server=n,address=127.0.0.1:1,launch=/usr/bin/touch ${proof}`,
      "-conf",
      "@x",
    ];
    const items = aliases.map((alias, index) => anchor(type, { alias, trustStorePath: host.pathOf(`store-${index}.p12`), storePasswordRef: REFERENCE }));
    const before = placesOf(host);
    server.send({ items });
    const { code, programs } = await host.pass(PASSWORD);
    expect(programs).toEqual([]);
    expect(existsSync(proof)).toBe(false);
    expect(placesOf(host)).toEqual(before);
    expect([code, ...items.map(({ id }) => server.lastReport(id)?.message)]).toEqual([1, ...items.map(() => expect.stringContaining("config.alias must be"))]);
    host.remove();
  });

  test("gives no tool of any store an option by any word, though the host's policy permits every place", async () => {
    const host = await newOwnedHost(server);
    const evil = ["-Xevil", "@evil", "--evil=x", "evil\nevil"];
    const policy: Policy = { directories: ["/"], accounts: ["root"], passwords: [REFERENCE], privateKeys: true, reloads: [["true"]] };
    host.setPolicy(policy);
    const items = INSTALLABLE.flatMap((type) => {
      const { required, optional } = configRulesOf(type);
      const places = { trustStorePath: host.pathOf("place"), envFilePath: host.pathOf("environment"), storePasswordRef: REFERENCE, alias: "corp" };
      const config = Object.fromEntries(Object.entries(places).filter(([field]) => [...required, ...optional].includes(field)));
      return [...required, ...optional]
        .filter((field) => field in VALUES)
        .flatMap((field) => evil.map((word) => anchor(type, { ...config, [field]: word })))
        .concat(evil.map((word) => anchor(type, { ...config, reloadCommand: [word] })));
    });
    const before = placesOf(host);
    server.send({ items });
    const { code, programs } = await host.pass(PASSWORD);
    expect(code).toBe(1);
    expect(programs).toEqual([]);
    expect(placesOf(host)).toEqual(before);
    const states = new Set(items.map(({ id }) => server.lastReport(id)?.state));
    expect([...states].filter((state) => state !== "failed" && state !== "refused")).toEqual([]);
    host.remove();
  });
});

describe("where a program is started, a word of the server is judged once more: whatever let it come so far", () => {
  const EVIL = "-Jevil";
  const server = { trustStorePath: "", certFileName: "a.crt", keyFileName: "a.key" };
  test.each([
    ["java_keystore_pkcs12", { storePasswordRef: "env:HOME" }],
    ["java_keystore_jks", { storePasswordRef: "env:HOME" }],
    ["nss_shared_db", {}],
    ["redis_server_tls", { ...server, dbUser: EVIL }],
    ["mariadb_server_tls", { ...server, dbUser: EVIL }],
  ] as const)("%s", async (storeType, config) => {
    const agent = await newAgentHost();
    const trustStorePath = "trustStorePath" in config ? agent.pathOf("home") : agent.pathOf("place");
    const target: Target = { assignmentId: crypto.randomUUID(), storeType, materialType: "trust_anchor", alias: EVIL, config: { ...config, trustStorePath } };
    const material = { certificate: authority.root.pem, fingerprint: authority.root.fingerprint, chain: [], privateKey: null };
    const [journal, log, never] = [{ ownership: {}, undo: [] }, createLog("silent"), () => false];
    const transaction = beginTransaction({ host: agent.host, log, journal, save: async () => {}, isOthers: never, isStayingOthers: never });
    await expect(STORES[storeType].install(target, material, transaction)).rejects.toThrow('"-Jevil" cannot be the argument of a program');
    agent.remove();
  });

  test("pkcs11_token", async () => {
    const agent = await newAgentHost();
    const config = { trustStorePath: agent.pathOf("module.so"), storePasswordRef: "env:HOME" };
    const target: Target = { assignmentId: crypto.randomUUID(), storeType: "pkcs11_token", materialType: "trust_anchor", alias: EVIL, config };
    const material = { certificate: authority.root.pem, fingerprint: authority.root.fingerprint, chain: [], privateKey: null };
    const host = { ...agent.host, environment: { ...agent.host.environment, HOME: "1234" } };
    await expect(STORES.pkcs11_token.observe(target, material, host)).rejects.toThrow('"-Jevil" cannot be the argument of a program');
    agent.remove();
  });
});
