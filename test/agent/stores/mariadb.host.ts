import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, rmSync } from "node:fs";
import { desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until, withPrograms } from "../../support/agent/observing";
import { newLeaves } from "../../support/agent/server-behaviour";
import type { Issued } from "../../support/pki/authority";
import { MARIADB } from "../../support/pki/presets/brokers";
import { accountOf, startPreset } from "../../support/pki/presets/server";
import { runs } from "../../support/pki/tls-clients";
import { endServers, freePort, presentedAt, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const leaves = await newLeaves();
const { leaf, next, bootstrap } = leaves;
afterAll(() => {
  endServers();
  leaves.authority.remove();
});

describe("mariadb_server_tls", () => {
  test("FLUSH SSL by the login that the config names: presented, renewed, healed, refused without the password, given back", async () => {
    const agent = await newAgentHost();
    chmodSync(agent.directory, 0o711);
    const [tls, directory, port] = [agent.pathOf("tls"), agent.pathOf("server"), await freePort()];
    for (const each of [tls, directory]) mkdirSync(each);
    writePair(`${tls}/server-cert.pem`, `${tls}/server-key.pem`, bootstrap);
    const { uid, gid } = accountOf("mysql");
    chownSync(`${tls}/server-key.pem`, uid, gid);
    const server = await startPreset(MARIADB, { directory, tls, port, spare: 0 });
    const grant = "CREATE USER ops@localhost IDENTIFIED BY 'pass word'; GRANT RELOAD ON *.* TO ops@localhost";
    expect(await runs([...server.reload, `--execute=${grant}`])).toMatchObject({ isGood: true });
    const reached = withPrograms(agent, { mariadb: `exec ${server.reload.join(" ")} "$@"` });
    const host = { ...reached, environment: { ...reached.environment, PASSWORD: "pass word", WRONG: "wrong" } };
    const config = { trustStorePath: tls, dbUser: "ops", storePasswordRef: "env:PASSWORD", verifyEndpoint: `tls://127.0.0.1:${port}` };
    const item = desiredServer(leaf, { trustStoreType: "mariadb_server_tls", config });
    const presents = (issued: Issued) =>
      until(async () => expect(await presentedAt(port, "-starttls", "mysql")).toEqual([issued.fingerprint, leaves.authority.intermediate.fingerprint]));
    const before = stateOf(tls);
    await presents(bootstrap);
    const locked = { ...item, config: { ...config, storePasswordRef: "env:WRONG" } };
    expect(await agent.pass(locked, { host })).toMatchObject({ state: "failed", message: expect.stringMatching(/Access denied for user 'ops'.*Rolled back/) });
    expect(stateOf(tls)).toEqual(before);
    expect(await agent.pass(item, { host })).toMatchObject({ state: "installed", observedFingerprint: leaf.fingerprint });
    await presents(leaf);
    const { pem, fingerprint, privateKeyPem } = next;
    const renewed = { ...item, version: 2, pem, fingerprintSha256: fingerprint, privateKeyPem };
    expect(await agent.pass(renewed, { host })).toMatchObject({ state: "installed" });
    await presents(next);
    rmSync(`${tls}/server-cert.pem`);
    expect(await agent.pass(renewed, { host })).toMatchObject({ state: "drifted" });
    await presents(next);
    expect(await agent.withdraw(item, { host })).toEqual({ state: "removed" });
    expect(stateOf(tls)).toEqual(before);
    await presents(bootstrap);
    await server.stop();
    agent.remove();
  });
});
