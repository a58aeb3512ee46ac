import { describe, expect, test } from "bun:test";
import { newAgent } from "../../../support/server/agents";
import { newFleet, runPolicyJob } from "../../../support/server/fleet";
import { statementsDuring } from "../../../support/server/statements";
import { world } from "../../../support/server/world";
import { aPolicy, withPolicies } from "./policies";

describe("an agent", () => {
  test("of an organization without policies costs those of others three statements, and is done with", async () => {
    const { organization } = await newFleet({ env: "prod" });
    await runPolicyJob();
    await newAgent(organization, { labels: { env: "prod" } });
    const about = /relabelled_agents|assignment|rollouts|agents/;
    expect((await statementsDuring(runPolicyJob, about)).map(({ text }) => text.trimStart().split(/\s+/)[0])).toEqual(["with", "select", "with"]);
    expect((await world.sql`select from relabelled_agents where organization_id = ${organization.id}`).length).toBe(0);
  });

  test("that is enrolled with labels that match gets the assignment; one without them does not", async () => {
    const { root, make, enrol, installed, read, events } = await withPolicies();
    const { id } = await make(aPolicy(root));
    const [matching, another] = [await enrol({ env: "prod" }), await enrol({ env: "dev" })];
    expect(await installed(matching, another)).toEqual([[root], []]);
    expect(await read(id)).toMatchObject({ agents: 3, state: "applied" });
    const [last] = await events("assignment.created");
    expect(last).toMatchObject({ actor: { type: "server" }, details: { policyId: id, agentId: matching.id } });
  });

  test("with other labels gets what matches now, and loses what does not", async () => {
    const { agents, root, other, make, relabel, installed, events } = await withPolicies();
    const { id } = await make(aPolicy(root));
    await make(aPolicy(other, { selector: "env=dev" }));
    await relabel(agents[0], { env: "dev" });
    expect(await installed()).toEqual([[other], [root], [other]]);
    expect(await events("assignment.deleted")).toMatchObject([{ actor: { type: "server" }, details: { policyId: id, agentId: agents[0].id } }]);
    await relabel(agents[2], { env: "none" });
    await relabel(agents[0], { env: "prod" });
    expect(await installed()).toEqual([[root], [root], []]);
  });

  test("is looked at again only for a label that a selector names, and once for many changes", async () => {
    const { organization, agents, root, make, installed } = await withPolicies();
    await make(aPolicy(root, { selector: "env=prod,zone!=a" }));
    await make(aPolicy(root, { selector: null, config: { alias: "all" } }));
    const agentIds = agents.map((each) => each.id);
    const change = async (body: object) =>
      expect(await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { agentIds, ...body } })).toMatchObject({ status: 200 });
    const count = async () => (await world.sql`select from relabelled_agents where organization_id = ${organization.id}`).length;
    await runPolicyJob();
    expect(await count()).toBe(0);
    await change({ set: { wave: "1", env2: "prod" }, unset: ["on"] });
    expect(await count()).toBe(0);
    await change({ set: { env: "dev" } });
    await change({ set: { env: "prod" } });
    await change({ set: { wave: "2", zone: "a" } });
    await change({ unset: ["zone"] });
    expect(await count()).toBe(2 + 3 + 3 + 3);
    await runPolicyJob();
    expect(await count()).toBe(0);
    expect(await installed()).toEqual(agents.map(() => [root, root]));
  });

  test("that a server of the release before labels or enrols gets what matches", async () => {
    const { organization, agents, root, make, installed } = await withPolicies();
    const { id: policyId } = await make(aPolicy(root));
    await world.sql`update agents set labels = '{"env": "prod"}', version = version + 1 where organization_id = ${organization.id} and id = ${agents[2].id}`;
    await runPolicyJob();
    expect(await installed(agents[2])).toEqual([[root]]);
    const id = Bun.randomUUIDv7();
    await world.sql`insert into agents (organization_id, id, name, labels) values (${organization.id}, ${id}, 'web-02', '{"env": "prod"}')`;
    await runPolicyJob();
    const { items } = (await organization.member("GET", `/agents/${id}/assignments`)).body;
    expect(items).toMatchObject([{ certificateId: root, policyId }]);
  });

  test("is not forgotten when the server dies between the change of its labels and the work on it", async () => {
    const { organization, agents, root, make, installed } = await withPolicies();
    await make(aPolicy(root));
    await organization.admin("POST", "/fleet-operations/bulk-label-update", { body: { agentIds: [agents[2].id], set: { env: "prod" } } });
    const refuse = `create function refuse_work() returns trigger language plpgsql as $$ begin raise exception 'the server dies here'; end $$;
      create trigger refuse_work before insert on assignments for each row when (new.organization_id = '${organization.id}') execute function refuse_work()`;
    await world.sql.unsafe(refuse);
    const failure = await runPolicyJob().catch((error) => error);
    await world.sql.unsafe("drop trigger refuse_work on assignments; drop function refuse_work()");
    expect(failure.errors.map((each: Error) => each.message)).toEqual(["the server dies here"]);
    expect(await installed(agents[2])).toEqual([[]]);
    await runPolicyJob();
    expect(await installed(agents[2])).toEqual([[root]]);
  });

  test("whose place another assignment has is listed by the policy, until the place is free", async () => {
    const { organization, root, other, make, assign, enrol, relabel, installed, read } = await withPolicies();
    const { id } = await make(aPolicy(root));
    const late = await enrol({ env: "dev" });
    const single = await assign(late, other, { config: { alias: "root" } });
    await relabel(late, { env: "prod" });
    expect(await installed(late)).toEqual([[other]]);
    const conflict = { agentId: late.id, agentName: "web-01", assignmentId: single.id, policyId: null };
    expect(await read(id)).toMatchObject({ agents: 2, conflicts: { total: 1, items: [conflict] } });
    await runPolicyJob();
    expect(await read(id)).toMatchObject({ conflicts: { total: 1 } });
    await organization.admin("DELETE", `${late.assignments}/${single.id}`);
    await runPolicyJob();
    expect(await installed(late)).toEqual([[root]]);
    expect(await read(id)).toMatchObject({ agents: 3, conflicts: { total: 0, items: [] } });
  });

  test("that matches two policies for one place has the older one's; the newer lists it", async () => {
    const { agents, root, other, make, relabel, installed, read, remove } = await withPolicies();
    const older = await make(aPolicy(root, { selector: "env=prod,tier!=edge" }));
    const newer = await make(aPolicy(other, { selector: "tier=edge" }));
    const [agent] = agents;
    await relabel(agent, { tier: "edge" });
    expect(await installed(agent)).toEqual([[other]]);
    const both = await make(aPolicy(root, { selector: "zone=a" }));
    await relabel(agent, { zone: "a" });
    expect(await installed(agent)).toEqual([[other]]);
    expect(await read(both.id)).toMatchObject({ agents: 0, conflicts: { total: 1, items: [{ agentId: agent.id, policyId: newer.id }] } });
    await remove(newer.id);
    await runPolicyJob();
    expect(await installed(agent)).toEqual([[root]]);
    expect(await read(both.id)).toMatchObject({ agents: 1, conflicts: { total: 0 } });
    expect(await read(older.id)).toMatchObject({ agents: 1 });
  });

  test("that is deleted while its place is taken is no conflict any more", async () => {
    const { organization, root, other, make, assign, enrol, relabel, read } = await withPolicies();
    const { id } = await make(aPolicy(root));
    const late = await enrol({});
    await assign(late, other, { config: { alias: "root" } });
    await relabel(late, { env: "prod" });
    await organization.admin("DELETE", late.path);
    await runPolicyJob();
    expect(await read(id)).toMatchObject({ conflicts: { total: 0, items: [] } });
  });
});
