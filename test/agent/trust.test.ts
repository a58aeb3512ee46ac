import { expect, setDefaultTimeout, test } from "bun:test";
import { rmSync } from "node:fs";
import { newConnectedAgent } from "../support/agent/connected-agent";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);

test("a pass that is answered with a state of another signer goes by the last good one, and says so as an error", async () => {
  const agent = await newConnectedAgent();
  const root = await agent.newRoot();
  await agent.assign(root.id, "root");
  expect(await agent.pass()).toEqual({ failed: 0 });
  expect(agent.said.map(({ msg }) => msg)).toContain("the server's key is trusted from now on");
  await world.sql`delete from signing_keys where organization_id = ${agent.organization.id}`;
  await agent.assign((await agent.newRoot("Other Root")).id, "other");
  rmSync(agent.pathOf("store/root.pem"));
  const { failed, unreachable } = await agent.pass();
  expect([failed, unreachable?.message]).toEqual([0, expect.stringContaining("does not endorse")]);
  expect(agent.store()).toEqual({ "root.pem": root.pem });
  expect(agent.said.find(({ msg }) => msg === "the server's answer is refused")).toMatchObject({
    level: 50,
    reason: unreachable?.message,
    usesLastState: true,
  });
  rmSync(agent.pathOf("state/trusted-key.json"));
  expect(await agent.pass()).toEqual({ failed: 0 });
  expect(Object.keys(agent.store()).toSorted()).toEqual(["other.pem", "root.pem"]);
  await agent.end();
});
