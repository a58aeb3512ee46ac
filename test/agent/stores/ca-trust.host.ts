import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { desired, newAgentHost } from "../../support/agent/agent-host";
import { withScratchCaTrust } from "../../support/agent/scratch-ca-trust";
import { newParties, type Parties } from "../../support/agent/store-behaviour";
import { curlTrusts } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

let parties: Parties;
beforeAll(async () => {
  parties = await newParties();
});
afterAll(() => parties.end());

const newSystem = () => newAgentHost(withScratchCaTrust);

describe("linux_update_ca_trust, by the tool that Red Hat's update-ca-trust calls", () => {
  test("refused, installed and trusted, drifted and healed, removed and refused", async () => {
    const agent = await newSystem();
    const { anchors, bundle } = agent.host.caTrust;
    const file = `${anchors}/corp.crt`;
    writeFileSync(`${anchors}/theirs.crt`, parties.known.root.pem);
    const item = desired(parties.authority.root, { trustStoreType: "linux_update_ca_trust", config: { alias: "corp", trustStorePath: anchors } });
    const trusts = async () => [
      await curlTrusts(parties.server.url, {}, "--cacert", bundle),
      await curlTrusts(parties.knownServer.url, {}, "--cacert", bundle),
    ];
    expect(await Bun.spawn([...agent.host.caTrust.update]).exited).toBe(0);
    expect(await trusts()).toEqual([false, true]);
    expect(await agent.pass(item)).toMatchObject({ state: "installed" });
    expect(await trusts()).toEqual([true, true]);
    for (const spoil of [() => rmSync(file), () => writeFileSync(file, "# nothing\n"), () => writeFileSync(bundle, parties.known.root.pem)]) {
      spoil();
      expect(await agent.pass(item)).toMatchObject({ state: "drifted" });
      expect(await trusts()).toEqual([true, true]);
    }
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await trusts()).toEqual([false, true]);
    expect(agent.files().filter((name) => name.startsWith("source/"))).toEqual(["source/anchors/theirs.crt"]);
    expect(await agent.pass({ ...item, config: { trustStorePath: dirname(anchors) } })).toMatchObject({
      state: "failed",
      message: expect.stringContaining(`config.trustStorePath must lie in ${anchors}`),
    });
    agent.remove();
  });
});
