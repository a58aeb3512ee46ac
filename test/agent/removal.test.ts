import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { newConnectedAgent } from "../support/agent/connected-agent";

setDefaultTimeout(300_000);

async function newInstalled() {
  const agent = await newConnectedAgent();
  const root = await agent.newRoot();
  const id = await agent.assign(root.id, "root");
  await agent.pass();
  return { ...agent, root, id };
}

describe("an assignment that is removing", () => {
  test("is deleted on the server in the pass that removes it, and forgotten", async () => {
    const agent = await newInstalled();
    await agent.unassign(agent.id);
    expect(await agent.isAssigned(agent.id)).toBe(true);
    expect(await agent.pass()).toEqual({ failed: 0 });
    expect([agent.store(), await agent.isAssigned(agent.id), agent.state().records.size]).toEqual([{}, false, 0]);
    await agent.end();
  });

  test("stays, with the reason, while the removal fails", async () => {
    const agent = await newInstalled();
    await agent.change(agent.id, { config: { reloadCommand: ["false"] } });
    await agent.pass();
    await agent.unassign(agent.id);
    expect(await agent.pass({ ignoreBackoff: true })).toEqual({ failed: 1 });
    expect((await agent.historyOf(agent.id)).at(-1)).toBe("failed: false ended with exit code 1: it said nothing. Rolled back: the store is as it was.");
    expect(agent.store()).toEqual({ "root.pem": agent.root.pem });
    await agent.end();
  });

  test("kept, where another certificate file makes the store's reader trust it; removed once that is gone", async () => {
    const agent = await newInstalled();
    writeFileSync(agent.pathOf("store/mine.pem"), agent.root.pem);
    await agent.unassign(agent.id);
    for (let times = 0; times < 2; times++) expect(await agent.pass()).toEqual({ failed: 0 });
    const history = await agent.historyOf(agent.id);
    expect(history).toEqual([
      "installed",
      expect.stringMatching(
        /^kept: Another owner, or another assignment, has put it there too, and that stays: … leads to it\. The rest is in the agent's log on the host\.$/,
      ),
    ]);
    await agent.restart();
    for (const name of readdirSync(agent.pathOf("store"))) rmSync(agent.pathOf("store", name));
    await agent.pass();
    expect(await agent.isAssigned(agent.id)).toBe(false);
    await agent.pass();
    expect(agent.state().records.size).toBe(0);
    await agent.end();
  });
});

describe("a lost state directory", () => {
  test("kept: what an earlier agent installed stays, and is reported; removed once the store has lost it", async () => {
    const agent = await newInstalled();
    await agent.loseState();
    expect(agent.state().isNew).toBe(true);
    await agent.unassign(agent.id);
    for (let times = 0; times < 2; times++) expect(await agent.pass()).toEqual({ failed: 0 });
    expect(agent.store()).toEqual({ "root.pem": agent.root.pem });
    expect(await agent.historyOf(agent.id)).toEqual([
      "installed",
      expect.stringMatching(
        /^kept: This agent has no record of it \(its state directory was lost, or is another's\), so it left it there: … leads to it\. The rest is in the agent's log on the host\.$/,
      ),
    ]);
    expect(agent.said).toContainEqual(expect.objectContaining({ msg: "kept", reason: expect.stringContaining("has no record of it") }));
    for (const name of readdirSync(agent.pathOf("store"))) rmSync(agent.pathOf("store", name));
    await agent.pass();
    expect(await agent.isAssigned(agent.id)).toBe(false);
    await agent.end();
  });

  test("kept: what it found installed afterwards, and was asked to remove later", async () => {
    const agent = await newInstalled();
    await agent.loseState();
    await agent.pass();
    await agent.unassign(agent.id);
    await agent.pass();
    expect((await agent.historyOf(agent.id)).at(-1)).toMatch(
      /^kept: It was there before this agent, or before its state directory was lost; the agent left it there: /,
    );
    await agent.end();
  });

  test("kept: what a damaged record named; the damage is in each report until then", async () => {
    const agent = await newInstalled();
    writeFileSync(agent.pathOf("state/assignments", `${agent.id}.json`), "{");
    await agent.restart();
    await agent.pass();
    expect((await agent.historyOf(agent.id)).at(-1)).toMatch(/^installed: The agent's record .* was damaged and is kept as /);
    await agent.unassign(agent.id);
    await agent.pass();
    expect((await agent.historyOf(agent.id)).at(-1)).toMatch(
      /^kept: The agent's record … was damaged and is kept as …\. .*remove it by hand, then the record\. … leads to it\. The rest is in the agent's log on the host\.$/,
    );
    await agent.end();
  });
});
