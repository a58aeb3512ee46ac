import { describe, expect, test } from "bun:test";
import { desired, runPolicyJob } from "../../../support/server/fleet";
import { world } from "../../../support/server/world";
import { aPolicy, withPolicies } from "./policies";

const sql = world.sql;

async function withOne() {
  const fleet = await withPolicies();
  const policy = await fleet.make(aPolicy(fleet.root));
  const again = () => sql`update assignment_policies set applied_up_to = '00000000-0000-0000-0000-000000000000' where id = ${policy.id}`;
  const all = async () => {
    await runPolicyJob();
    return (await Promise.all(fleet.agents.map(desired))).map((items) => items.map(({ certificateId, config }) => [certificateId, config.alias]));
  };
  return { ...fleet, policy, again, all };
}

describe("an attacker who writes to the database", () => {
  type One = Awaited<ReturnType<typeof withOne>>;
  test.each<[string, (one: One) => PromiseLike<unknown>]>([
    ["selector", ({ policy }) => sql`update assignment_policies set selector = null, selector_path = null where id = ${policy.id}`],
    ["jsonpath", ({ policy }) => sql`update assignment_policies set selector_path = '$.env == "dev"' where id = ${policy.id}`],
    ["config", ({ policy }) => sql`update assignment_policies set config = '{"alias": "theirs"}' where id = ${policy.id}`],
    ["target", ({ policy }) => sql`update assignment_policies set target = 'x' where id = ${policy.id}`],
    ["certificate", ({ policy, other }) => sql`update assignment_policies set certificate_id = ${other} where id = ${policy.id}`],
    ["deletion", ({ policy }) => sql`update assignment_policies set deleted_at = now() where id = ${policy.id}`],
    ["stamp", ({ policy }) => sql`update assignment_policies set stamp = null where id = ${policy.id}`],
  ])("has no host commanded by another %s of a policy: it gives and takes nothing, which is audited once", async (_, attack) => {
    const one = await withOne();
    const before = await one.all();
    expect(before).toEqual([[[one.root, "root"]], [[one.root, "root"]], []]);
    for (let turn = 0; turn < 2; turn++) {
      await attack(one);
      await one.again();
      expect(await one.all()).toEqual(before);
    }
    expect(await one.events("assignment-policy.held")).toMatchObject([{ targetId: one.policy.id, actor: { type: "server" } }]);
    const [row] = await sql`select held_since is not null as "isUnproven" from assignment_policies where id = ${one.policy.id}`;
    expect(row).toEqual({ isUnproven: true });
  });

  test("has no host commanded by a policy of its own, or by one that a request then changes", async () => {
    const one = await withOne();
    const before = await one.all();
    await sql`
      insert into assignment_policies select (jsonb_populate_record(p, jsonb_build_object('id', ${Bun.randomUUIDv7()}::text, 'selector', null, 'selector_path', null, 'target', 'x',
        'config', '{"alias": "theirs"}'::jsonb, 'applied_up_to', '00000000-0000-0000-0000-000000000000'))).* from assignment_policies p where id = ${one.policy.id}`;
    expect(await one.all()).toEqual(before);
    await sql`update assignment_policies set selector = null, selector_path = null where id = ${one.policy.id}`;
    for (const answer of [await one.patch(one.policy.id, { name: "Renamed" }), await one.remove(one.policy.id)])
      expect([answer.status, answer.body.message]).toEqual([
        409,
        `The policy ${one.policy.id} is held: it was changed in the database, and not by this server, or an upgrade did not stamp it. Hosts keep what they have. Ask who administers the server to look at it, and to run certitude secrets trust.`,
      ]);
    expect(await one.all()).toEqual(before);
  });

  test("has no single assignment removed by making it a policy's", async () => {
    const one = await withOne();
    const dev = one.agents[2];
    const own = await one.assign(dev, one.other, { config: { alias: "own" } });
    await sql`update assignments set policy_id = ${one.policy.id} where id = ${own.id}`;
    await one.again();
    await runPolicyJob();
    expect((await dev.call("GET", "/agent/assignments")).body).toMatchObject({ items: [], keep: [own.id], remove: [] });
  });
});
