import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync, statSync } from "node:fs";
import { desired } from "../../support/agent/agent-host";
import { installed, leftIn, withoutTools } from "../../support/agent/program-stores";
import { aliasesIn, configOf, deleteFrom, keystoreOf, newHost, newKeystores, TYPES } from "../../support/pki/keystores";
import { contentOf } from "../../support/pki/tls-clients";

setDefaultTimeout(300_000);

const { known, server, knownServer, java, anchor, isTrusting, putKnown, end } = await newKeystores();
afterAll(end);

describe.each(TYPES)("%s, a trust store", (type) => {
  test("Java refuses, trusts once it is installed, and refuses again; nothing is done twice, and what others trust stays", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = anchor(agent, type);
    expect(await isTrusting(agent)).toBe(false);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await isTrusting(agent)).toBe(true);
    expect(statSync(keystoreOf(agent).path).mode & 0o777).toBe(0o640);
    const after = contentOf(agent);
    expect(await agent.pass(item, withoutTools(agent))).toEqual(installed(item)); // and needs no Java for that
    expect(contentOf(agent)).toEqual(after);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await isTrusting(agent)).toBe(false);
    expect(await aliasesIn(agent)).toEqual(["known"]);
    expect(leftIn(agent)).toEqual([]);
    agent.remove();
  });

  test("one that is missing is made, and goes with the last entry that the agent has put there", async () => {
    const agent = await newHost();
    const item = anchor(agent, type);
    const second = desired(known.root, { trustStoreType: type, config: configOf(agent, { alias: "second" }) });
    const before = contentOf(agent);
    expect(await agent.pass(item)).toEqual(installed(item));
    expect(await agent.pass(second)).toEqual(installed(second));
    expect(await isTrusting(agent)).toBe(true);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(await isTrusting(agent)).toBe(false);
    expect(await isTrusting(agent, knownServer.url)).toBe(true);
    expect(await agent.withdraw(second)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(before);
    expect(readdirSync(agent.directory)).not.toContain("app");
    agent.remove();
  });

  test("drifted: removed, replaced, or all of the file lost or restored from before", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = anchor(agent, type);
    await agent.pass(item);
    const tamper = [() => deleteFrom(agent, "corp"), () => putKnown(agent, type, "-corp"), () => putKnown(agent, type), () => rmSync(keystoreOf(agent).path)];
    for (const each of tamper) {
      await each();
      expect(await agent.pass(item)).toMatchObject({
        ...installed(item),
        state: "drifted",
        message: expect.stringMatching(/Found and healed: corp in .* is /),
      });
    }
    expect(await isTrusting(agent)).toBe(true);
    expect(await agent.pass(item)).toEqual(installed(item));
    agent.remove();
  });

  test("failed, and as it was to the byte: a reload that fails, a server that it does not make trusted", async () => {
    const agent = await newHost();
    const failing = [{ reloadCommand: ["false"] }, { verifyEndpoint: knownServer.url, verifyServerName: "known.test" }];
    for (const prepare of [() => {}, () => putKnown(agent, type)]) {
      prepare();
      const before = contentOf(agent);
      for (const more of failing) {
        expect(await agent.pass(anchor(agent, type, more))).toMatchObject({
          state: "failed",
          message: expect.stringMatching(/Rolled back: the store is as it was/),
        });
        expect(contentOf(agent)).toEqual(before);
      }
    }
    const item = anchor(agent, type, { verifyEndpoint: server.url, verifyServerName: "good.test", reloadCommand: ["true"] });
    expect(await agent.pass(item)).toEqual(installed(item));
    agent.remove();
  });

  test("a foreign entry of the name stays: another certificate is refused, the same one is left there on removal", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const before = contentOf(agent);
    expect(await agent.pass(anchor(agent, type, { alias: "Known" }))).toMatchObject({
      state: "failed",
      message: expect.stringContaining("has an entry Known already, and not by this agent"),
    });
    expect(contentOf(agent)).toEqual(before);
    const same = desired(known.root, { trustStoreType: type, config: configOf(agent, { alias: "Known" }) });
    expect(await agent.pass(same)).toEqual(installed(same));
    expect(await agent.withdraw(same)).toMatchObject({ state: "kept", message: expect.stringContaining("left it there") });
    expect(contentOf(agent)).toEqual(before);
    const item = anchor(agent, type);
    await agent.pass(item);
    putKnown(agent, type, "-corp");
    const replaced = contentOf(agent);
    expect(await agent.withdraw(item)).toEqual({ state: "removed" });
    expect(contentOf(agent)).toEqual(replaced);
    agent.remove();
  });

  test("another alias, or another file, takes the place of the first", async () => {
    const agent = await newHost();
    putKnown(agent, type);
    const item = anchor(agent, type);
    await agent.pass(item);
    const renamed = { ...item, version: 2, config: { ...item.config, alias: "Renamed" } };
    expect(await agent.pass(renamed)).toEqual(installed(item));
    expect(await aliasesIn(agent)).toEqual(["known", "renamed"]);
    const moved = { ...renamed, version: 3, config: { ...item.config, trustStorePath: agent.pathOf("elsewhere/trust.store") } };
    expect(await agent.pass(moved)).toEqual(installed(item));
    expect(await isTrusting(agent)).toBe(false);
    expect(await java.trusts(server.url, keystoreOf(agent, "elsewhere/trust.store"))).toBe(true);
    agent.remove();
  });
});
