import { describe, expect, test } from "bun:test";
import { anAssignment } from "../../../support/server/agents";
import { aPolicy, askInTurn, inFiles, withPolicies } from "./policies";

async function withOwned() {
  const fleet = await withPolicies();
  const policy = await fleet.make(aPolicy(fleet.root, { name: "Roots" }));
  const [agent] = fleet.agents;
  const [owned] = (await fleet.organization.member("GET", agent.assignments)).body.items;
  return { ...fleet, policy, agent, owned, path: `${agent.assignments}/${owned.id}` };
}

describe("an assignment of a policy", () => {
  test("409 for PATCH and DELETE, which name the policy; 412 comes first", async () => {
    const { organization, policy, owned, path } = await withOwned();
    const message = `The assignment ${owned.id} belongs to the policy ${policy.id}. Change or delete the policy, or change the labels of the agent.`;
    const stale = { headers: { "if-match": '"9"' } };
    for (const wish of [{ body: { enabled: false } }, { body: { applicationId: owned.applicationId } }])
      expect(await organization.admin("PATCH", path, wish)).toMatchObject({ status: 409, body: { message } });
    expect(await organization.admin("DELETE", path)).toMatchObject({ status: 409, body: { message } });
    expect((await organization.admin("PATCH", path, { body: { enabled: false }, ...stale })).status).toBe(412);
    expect((await organization.admin("DELETE", path, stale)).status).toBe(412);
    const { report, history, ...now } = (await organization.member("GET", path)).body;
    expect(now).toEqual(owned);
  });

  test("409 for a new assignment at its place, of this or another certificate, which names both", async () => {
    const { organization, agents, root, other, policy, agent, owned } = await withOwned();
    const message = `The policy "Roots" (${policy.id}) has this place on the agent ${agent.id}, by the assignment ${owned.id}.`;
    for (const certificateId of [root, other])
      expect(await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, { config: { alias: "root" } }) })).toMatchObject({
        status: 409,
        body: { message },
      });
    const elsewhere = await organization.admin("POST", agent.assignments, { body: anAssignment(other, { config: { alias: "elsewhere" } }) });
    expect(elsewhere).toMatchObject({ status: 201, body: { policyId: null } });
    expect((await organization.admin("POST", agents[2].assignments, { body: anAssignment(other, { config: { alias: "root" } }) })).status).toBe(201);
  });

  test("409 for a new assignment that waited for the organization's first policy to take its place", async () => {
    const { organization, agents, root, other, create } = await withPolicies();
    const [agent] = agents;
    const assign = () => organization.admin("POST", agent.assignments, { body: anAssignment(other, { config: { alias: "root" } }) });
    expect(await askInTurn(agent, [() => create(aPolicy(root)), assign])).toEqual([201, 409]);
  });

  test("409 for another assignment that is changed to come to its place", async () => {
    const { organization, other, policy, agent, owned } = await withOwned();
    const { body } = await organization.admin("POST", agent.assignments, { body: anAssignment(other, { config: { alias: "elsewhere" } }) });
    const path = `${agent.assignments}/${body.id}`;
    const moved = await organization.admin("PATCH", path, { body: { config: { alias: "root" } } });
    const message = `The policy "Roots" (${policy.id}) has this place on the agent ${agent.id}, by the assignment ${owned.id}.`;
    expect(moved).toMatchObject({ status: 409, body: { message } });
    expect((await organization.member("GET", path)).body).toMatchObject({ config: { alias: "elsewhere" }, version: 1 });
  });

  test("201 for PEM files of another preset than the policy's; 409 for its own, by name or by path, when it is made or changed", async () => {
    const { organization, agents, root, other, make } = await withPolicies();
    const { id } = await make(aPolicy(root, inFiles({ preset: "postfix" })));
    const [agent] = agents;
    const assign = (certificateId: string, config: object) =>
      organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, inFiles(config)) });
    const taken = { status: 409, body: { message: expect.stringContaining(`The policy ${id} has this place`) } };
    for (const certificateId of [root, other])
      for (const config of [{ preset: "postfix" }, { trustStorePath: "/etc/postfix/tls" }]) expect(await assign(certificateId, config)).toMatchObject(taken);
    const { status, body } = await assign(root, { preset: "dovecot" });
    expect(status).toBe(201);
    expect((await assign(root, { preset: "postfix", trustStorePath: "/srv/tls" })).status).toBe(201);
    const change = (config: object) => organization.admin("PATCH", `${agent.assignments}/${body.id}`, { body: { config } });
    expect(await change({ preset: "postfix" })).toMatchObject(taken);
    expect((await change({ preset: "squid" })).status).toBe(200);
  });

  test("a rollout leaves its place alone", async () => {
    const { organization, other, root, installed } = await withOwned();
    const assignment = { applicationId: "mail", certificateId: other, trustStoreType: "linux_update_ca_certificates", config: { alias: "root" } };
    const { status, body } = await organization.admin("POST", "/rollouts", { body: { name: "All", assignment, rings: [{}] } });
    expect(status).toBe(201);
    expect(body.rings).toMatchObject([{ agents: 1 }]);
    expect(await installed()).toEqual([[root], [root], [other]]);
  });
});
