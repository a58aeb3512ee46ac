import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { presented } from "#agent/host/pem";
import type { Desired } from "#agent/server-client";
import { desired, desiredServer } from "../../support/agent/agent-host";
import { installed, leftIn, passInChild, withoutTools } from "../../support/agent/program-stores";
import { type Issued, serveTls } from "../../support/pki/authority";
import { keytool } from "../../support/pki/java";
import { aliasesIn, configOf, deleteFrom, FORMATS, importAs, keystoreOf, newHost, newKeystores } from "../../support/pki/keystores";
import { type AgentHost, contentOf } from "../../support/pki/tls-clients";
import { presentedAt } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const { authority, known, java, putKnown, end } = await newKeystores();
afterAll(end);

describe.each(["java_keystore_jks", "java_keystore_pkcs12"] as const)("%s, a key store", (type) => {
  const keyed = (agent: AgentHost, issued: Issued, more: Desired["config"] = {}) =>
    desiredServer(issued, { trustStoreType: type, config: configOf(agent, more) });
  const chainAt = async (agent: AgentHost) => {
    const peer = await java.serve(keystoreOf(agent));
    const chain = await presentedAt(peer.port);
    await peer.stop();
    return chain;
  };

  test("a server in Java presents the chain, then that of the next certificate; the file is closed to others", async () => {
    const agent = await newHost();
    const [leaf, next] = await Promise.all([authority.issueServer("java.test"), authority.issueServer("java.test")]);
    const item = keyed(agent, leaf);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o600);
    expect(await chainAt(agent)).toEqual([leaf.fingerprint, authority.intermediate.fingerprint]);
    const after = contentOf(agent);
    expect(await agent.pass(item, withoutTools(agent))).toEqual(installed(item));
    expect(contentOf(agent)).toEqual(after);
    const rotated = { ...keyed(agent, next), id: item.id, version: 2 };
    expect(await agent.pass(rotated)).toEqual(installed(rotated));
    expect(await chainAt(agent)).toEqual([next.fingerprint, authority.intermediate.fingerprint]);
    expect(await agent.withdraw(rotated)).toEqual({ state: "removed" });
    expect(agent.files()).toEqual([]);
    expect(leftIn(agent)).toEqual([]);
    agent.remove();
  });

  test("a client in Java is accepted by a server that asks for its certificate", async () => {
    const agent = await newHost();
    const [leaf, asked] = await Promise.all([authority.issueServer("client.test"), authority.issueServer("asking.test")]);
    const asking = await serveTls(asked, authority.root.pem);
    const trust = desired(authority.root, { trustStoreType: type, config: configOf(agent, { trustStorePath: agent.pathOf("app/anchors.store") }) });
    await agent.pass(trust);
    const item = { ...keyed(agent, leaf), materialType: "client_certificate" as const };
    const trustStore = keystoreOf(agent, "app/anchors.store");
    expect(await java.trusts(asking.url, trustStore)).toBe(false);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await java.trusts(asking.url, trustStore, keystoreOf(agent))).toBe(true);
    await asking.stop();
    agent.remove();
  });

  test("drifted: another key under the alias, its certificate without the key, another mode", async () => {
    const agent = await newHost();
    const [leaf, other] = await Promise.all([authority.issueServer("java.test"), known.issueServer("java.test")]);
    const item = keyed(agent, leaf, { keyPermissionMode: "0640" });
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o640);
    const tamper = [
      () => chmodSync(keystoreOf(agent).path, 0o644),
      async () => {
        await deleteFrom(agent, "corp");
        await keytool(keystoreOf(agent), "-genkeypair", ["-alias", "corp", "-keyalg", "EC", "-dname", "CN=other"]);
      },
      async () => {
        await deleteFrom(agent, "corp");
        await importAs(agent, "corp", leaf.pem);
      },
    ];
    for (const each of tamper) {
      await each();
      expect(await agent.pass(item)).toMatchObject({ ...installed(item), state: "drifted" });
      expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o640);
    }
    expect(await chainAt(agent)).toEqual([leaf.fingerprint, authority.intermediate.fingerprint]);
    const failing = { ...keyed(agent, other, { keyPermissionMode: "0600", reloadCommand: ["false"] }), id: item.id, version: 2 };
    const before = contentOf(agent);
    expect(await agent.pass(failing)).toMatchObject({ state: "failed", message: expect.stringContaining("Rolled back") });
    expect(contentOf(agent)).toEqual(before);
    agent.remove();
  });

  test("the root in the same file, and a key of another's, disturb nothing", async () => {
    const agent = await newHost();
    const leaf = await authority.issueServer("java.test");
    mkdirSync(agent.pathOf("app"));
    await keytool(keystoreOf(agent), "-genkeypair", ["-alias", "own", "-keyalg", "EC", "-dname", "CN=own", "-storetype", FORMATS[type]]);
    await importAs(agent, "root", authority.root.pem);
    const item = keyed(agent, leaf);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await keytool(keystoreOf(agent), "-list", ["-rfc", "-alias", "corp"])).toContain(presented(leaf.pem, leaf.chain)[1]?.split("\n")[1] ?? "");
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await aliasesIn(agent)).toEqual(["own", "root"]);
    agent.remove();
  });

  test("killed while keytool reads the key: the next run takes it back, leaves no key behind, and ends as desired", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = keyed(agent, await authority.issueServer("java.test"));
    const script = `case "$*" in *-importkeystore*) kill -9 $PPID;; *) exec ${Bun.which("keytool")} "$@";; esac`;
    const { code, signal } = await passInChild(agent, item, "keytool", script);
    expect(code).not.toBe(0);
    expect(signal).toBe("SIGKILL");
    const left = readdirSync(agent.pathOf("tmp"), { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
    expect(left.length).toBeGreaterThan(0);
    for (const each of left) expect(readFileSync(join(each.parentPath, each.name), "latin1")).not.toContain("PRIVATE KEY");
    const again = await newHost(agent.directory);
    expect(await again.pass(item)).toEqual(installed(item));
    expect(leftIn(agent)).toEqual([]);
    expect(await aliasesIn(agent)).toEqual(["corp", "known"]);
    again.remove();
  });
});
