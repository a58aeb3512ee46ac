import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer } from "../support/agent/agent-host";
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

async function newHost() {
  const host = await newOwnedHost(server);
  host.setPolicy({ directories: [host.directory], files: [host.pathOf("deep/er/ca.pem"), host.pathOf("made/here/environment")], privateKeys: true });
  return host;
}
type OwnedHost = Awaited<ReturnType<typeof newHost>>;

const anchor = (host: OwnedHost, alias: string, more: Partial<Desired> = {}) =>
  desired(authority.root, { trustStoreType: "openssl_ca_dir", config: { alias, trustStorePath: host.pathOf("certs") }, ...more });
const statesOf = (...items: { id: string }[]) => items.map(({ id }) => server.lastReport(id.toLowerCase())?.state);

const ODD: unknown[] = [
  null,
  true,
  0,
  -1,
  1e308,
  "",
  "x",
  "__proto__",
  "\u0000",
  [],
  [[]],
  {},
  { toString: 1 },
  { toJSON: 1 },
  { length: 1 },
  "x".repeat(100_000),
];

describe("one bad thing harms one thing", () => {
  test("an assignment, a key or a challenge with anything in the place of a field: the others are installed, removed and reported at every pass", async () => {
    const host = await newHost();
    const systemDirectory = readdirSync("/etc/ssl/certs");
    const [good, gone] = [anchor(host, "good"), anchor(host, "gone", { config: { alias: "gone", trustStorePath: host.pathOf("others") } })];
    server.send({ items: [good, gone] });
    expect((await host.pass()).code).toBe(0);
    const fields = Object.keys(good).filter((field) => field !== "id");
    const spoilt = fields.flatMap((field) => ODD.map((value) => ({ ...anchor(host, `odd-${field}`), [field]: value })));
    const configs = ODD.map((value) => ({ ...anchor(host, "odd"), config: { ...good.config, alias: value } }));
    const keys = ["algorithm", "commonName", "names", "hasCsr"].flatMap((field) =>
      ODD.map((value) => ({ requestId: crypto.randomUUID(), assignment: { id: crypto.randomUUID() }, [field]: value })),
    );
    const challenges = ["name", "token", "thumbprint", "proof", "isShown"].flatMap((field) =>
      ODD.map((value) => ({ id: crypto.randomUUID(), requestId: crypto.randomUUID(), [field]: value })),
    );
    const later = anchor(host, "later");
    const removals = spoilt.map((item) => ({ ...item, id: crypto.randomUUID() }));
    server.send({ items: [...spoilt, ...configs, good, later], remove: removals, keys, challenges });
    for (let pass = 0; pass < 2; pass++) {
      const { code, stderr } = await host.pass();
      expect({ code, stderr: stderr.replace(/\d+/, "many") }).toEqual({ code: 1, stderr: expect.stringContaining("many assignments failed") });
      expect(statesOf(good, later, gone)).toEqual(["installed", "installed", "removed"]);
    }
    expect(readdirSync(host.pathOf("certs")).filter((name) => /^(good|later)\.pem$/.test(name))).toEqual(["good.pem", "later.pem"]);
    expect(existsSync(host.pathOf("others"))).toBe(false);
    server.send({ items: [], remove: [...spoilt, ...configs] }); // an empty config names the store's own directory
    await host.pass();
    expect(readdirSync("/etc/ssl/certs")).toEqual(systemDirectory);
    host.remove();
  });

  test("ids with capitals: what is installed by them is known at the next start, reported, and removed", async () => {
    const host = await newHost();
    const item = anchor(host, "capital", { id: crypto.randomUUID().toUpperCase() });
    server.send({ items: [item] });
    await host.pass();
    expect(statesOf(item)).toEqual(["installed"]);
    server.send({ items: [], keep: [item.id] });
    await host.pass();
    expect(existsSync(host.pathOf("certs/capital.pem"))).toBe(true);
    server.send({ items: [] });
    await host.pass();
    expect(statesOf(item)).toEqual(["removed"]);
    expect(existsSync(host.pathOf("certs"))).toBe(false);
    host.remove();
  });

  test("directories that were made for a bundle or for settings go with them", async () => {
    const host = await newHost();
    const before = stateOf(host.directory, (name) => !/^state(\/|$)/.test(name));
    const bundle = desired(authority.root, { trustStoreType: "pem_ca_bundle", config: { trustStorePath: host.pathOf("deep/er/ca.pem") } });
    const variable = desired(authority.root, {
      trustStoreType: "ssl_cert_file_env",
      config: { envFilePath: host.pathOf("made/here/environment"), trustStorePath: host.pathOf("deep/er/ca.pem") },
    });
    server.send({ items: [bundle, variable] });
    await host.pass();
    expect(statesOf(bundle, variable)).toEqual(["installed", "installed"]);
    server.send({ items: [bundle] });
    await host.pass();
    expect([existsSync(host.pathOf("made")), existsSync(host.pathOf("deep/er"))]).toEqual([false, true]);
    server.send({ items: [] });
    await host.pass();
    expect(statesOf(bundle, variable)).toEqual(["removed", "removed"]);
    expect(stateOf(host.directory, (name) => !/^state(\/|$)/.test(name))).toEqual(before);
    host.remove();
  });

  test("a keyDirectory that begins with ~/ is in the agent's home, and what an earlier release made of it goes", async () => {
    const host = await newHost();
    const leaf = await authority.issueServer("good.test");
    mkdirSync(host.pathOf("tls"));
    const itemOf = (keyDirectory: string, rest: Partial<Desired> = {}) =>
      desiredServer(leaf, {
        trustStoreType: "pem_files",
        config: { trustStorePath: host.pathOf("tls"), certFileName: "a.crt", keyFileName: "a.key", keyDirectory },
        ...rest,
      });
    const former = itemOf(host.pathOf("tls/~/keys"));
    server.send({ items: [former] });
    await host.pass();
    expect(existsSync(host.pathOf("tls/~/keys/a.key"))).toBe(true);
    const record = host.pathOf("state/assignments", `${former.id}.json`);
    const recorded = readFileSync(record, "utf8");
    writeFileSync(record, recorded.replace(`"keyDirectory":"${host.pathOf("tls/~/keys")}"`, '"keyDirectory":"~/keys"'));
    expect(readFileSync(record, "utf8")).not.toBe(recorded);
    const item = itemOf("~/keys", { id: former.id });
    server.send({ items: [item] });
    await host.pass();
    expect(statesOf(item)).toEqual(["installed"]);
    expect(readFileSync(host.pathOf("home/keys/a.key"), "utf8")).toBe(leaf.privateKeyPem);
    expect(readdirSync(host.pathOf("tls"))).toEqual(["a.crt"]);
    server.send({ items: [] });
    await host.pass();
    expect([readdirSync(host.pathOf("tls")), existsSync(host.pathOf("home/keys"))]).toEqual([[], false]);
    host.remove();
  });
});
