import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { desiredServer, newAgentHost } from "../../support/agent/agent-host";
import { stateOf, until, withPrograms } from "../../support/agent/observing";
import { newLeaves, testServer } from "../../support/agent/server-behaviour";
import { startPreset } from "../../support/pki/presets/server";
import { APACHE } from "../../support/pki/presets/web";
import type { AgentHost } from "../../support/pki/tls-clients";
import { endServers, freePort, presentedAt, writePair } from "../../support/pki/tls-servers";

setDefaultTimeout(300_000);

const leaves = await newLeaves();
afterAll(() => {
  endServers();
  leaves.authority.remove();
});

async function start(agent: AgentHost) {
  const [tls, directory, port] = [agent.pathOf("tls"), agent.pathOf("server"), await freePort()];
  mkdirSync(tls);
  mkdirSync(directory);
  writePair(`${tls}/tls.crt`, `${tls}/tls.key`, leaves.bootstrap);
  const { reload, ...server } = await startPreset(APACHE, { directory, tls, port, spare: 0 });
  return { ...server, port, reloadCommand: reload };
}

describe("apache_httpd_tls", () => {
  testServer({ storeType: "apache_httpd_tls", certificateFile: "tls.crt", keyFile: "tls.key", start }, () => leaves);

  test("by default Apache checks its configuration and reloads; failed before any reload: one that it does not accept", async () => {
    const agent = await newAgentHost();
    const server = await start(agent);
    const configuration = agent.pathOf("server/apache.conf");
    const host = withPrograms(agent, { apachectl: `[ "$1" = configtest ] && exec apache2 -f ${configuration} -t; exec ${server.reloadCommand.join(" ")}` });
    const item = desiredServer(leaves.leaf, { trustStoreType: "apache_httpd_tls", config: { trustStorePath: agent.pathOf("tls") } });
    const before = stateOf(agent.pathOf("tls"));
    const good = readFileSync(configuration, "utf8");
    writeFileSync(configuration, `${good}Nonsense here\n`);
    expect(await agent.pass(item, { host })).toMatchObject({
      state: "failed",
      message: expect.stringMatching(/^apachectl ended with exit code 1: .*Nonsense.*Rolled back/),
    });
    expect(stateOf(agent.pathOf("tls"))).toEqual(before);
    writeFileSync(configuration, good);
    expect(await agent.pass(item, { host })).toMatchObject({ state: "installed" });
    expect(readFileSync(agent.pathOf("calls"), "utf8")).toBe("apachectl configtest\napachectl configtest\napachectl graceful\n");
    await until(async () => expect((await presentedAt(server.port))[0]).toBe(leaves.leaf.fingerprint));
    await server.stop();
    agent.remove();
  });
});
