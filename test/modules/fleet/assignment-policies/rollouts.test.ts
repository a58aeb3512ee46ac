import { describe, expect, test } from "bun:test";
import { importWithKey } from "../../../support/server/agents";
import { report, runPolicyJob, runRolloutJob } from "../../../support/server/fleet";
import { aPolicy, withPolicies } from "./policies";

const rings = [{ selector: "tier=canary" }, {}];

/** The first agent of production is the canary; the second comes with the next ring. */
async function withRings() {
  const fleet = await withPolicies();
  await fleet.relabel(fleet.agents[0], { tier: "canary" });
  const policy = await fleet.make(aPolicy(fleet.root, { name: "Roots", rings }));
  const rollout = async () => (await fleet.organization.member("GET", `/rollouts/${policy.rolloutId}`)).body;
  const roll = async (verb: string) => (await fleet.organization.admin("POST", `/rollouts/${policy.rolloutId}/${verb}`, { body: {} })).status;
  return { ...fleet, policy, id: policy.id as string, rollout, roll };
}

describe("a policy with rings", () => {
  test("comes to the agents of its rollout ring by ring, and to those that come later once that is completed", async () => {
    const { agents, root, id, policy, rollout, read, enrol, installed } = await withRings();
    expect(policy).toMatchObject({ state: "rolling_out", agents: 1 });
    expect(await rollout()).toMatchObject({ name: "Roots", status: "running", rings: [{ agents: 1 }, { agents: 1 }] });
    const late = await enrol({ env: "prod" });
    expect(await installed(...agents, late)).toEqual([[root], [], [], []]);
    await report("installed", agents[0]);
    await runRolloutJob();
    expect(await installed(...agents, late)).toEqual([[root], [root], [], []]);
    await report("installed", agents[1]);
    await runRolloutJob();
    await runPolicyJob();
    expect(await installed(...agents, late)).toEqual([[root], [root], [], [root]]);
    expect(await read(id)).toMatchObject({ state: "applied", agents: 3 });
  });

  test("leaves out an agent that matches no more when its ring opens, and takes it from one that has it", async () => {
    const { agents, id, relabel, installed, read } = await withRings();
    await relabel(agents[1], { env: "dev" });
    await report("installed", agents[0]);
    await runRolloutJob();
    await runPolicyJob();
    expect(await installed(agents[1])).toEqual([[]]);
    expect(await read(id)).toMatchObject({ state: "applied", agents: 1 });
    await relabel(agents[0], { env: "dev" });
    expect(await installed()).toEqual([[], [], []]);
  });

  test("409 for a change and its deletion until the rollout is over; one that is rolled back gives nothing to anybody", async () => {
    const { agents, root, id, policy, patch, remove, roll, read, installed, enrol } = await withRings();
    const message = `The rollout ${policy.rolloutId} of this policy is not completed. Roll it back, or wait for its end.`;
    for (const verb of ["halt", "resume"]) {
      expect(await patch(id, { selector: null })).toMatchObject({ status: 409, body: { message } });
      expect(await remove(id)).toMatchObject({ status: 409, body: { message } });
      expect(await roll(verb)).toBe(200);
    }
    expect(await installed(agents[0])).toEqual([[root]]);
    expect(await roll("rollback")).toBe(200);
    const late = await enrol({ env: "prod" });
    expect(await installed(...agents, late)).toEqual([[], [], [], []]);
    expect(await read(id)).toMatchObject({ state: "rolling_back", agents: 0 });
    expect((await remove(id)).status).toBe(204);
  });

  test("leaves the place to an assignment that came before its ring, and lists it", async () => {
    const { agents, root, other, id, assign, installed, read } = await withRings();
    const single = await assign(agents[1], other, { config: { alias: "root" } });
    await report("installed", agents[0]);
    await runRolloutJob();
    await runPolicyJob();
    expect(await installed()).toEqual([[root], [other], []]);
    expect(await read(id)).toMatchObject({ agents: 1, conflicts: { total: 1, items: [{ agentId: agents[1].id, assignmentId: single.id }] } });
  });
});

describe("a policy whose certificate gets a successor", () => {
  test("a trust anchor: the successor comes beside it, the policy has it once the old one is retired, and the old assignments go", async () => {
    const { organization, agents, root, other, make, relabel, enrol, installed, read, patch, remove } = await withPolicies();
    const { id } = await make(aPolicy(root));
    expect((await organization.admin("POST", `/certificates/${root}/successor`, { body: { certificateId: other } })).status).toBe(201);
    expect(await installed()).toEqual([[root, other], [root, other], []]);
    await runPolicyJob();
    const late = await enrol({ env: "prod" });
    await runRolloutJob();
    expect(await installed(...agents, late)).toEqual([[root, other], [root, other], [], [root, other]]);
    expect(await patch(id, { config: { alias: "x" } })).toMatchObject({ status: 409, body: { message: expect.stringContaining("has a successor") } });
    expect(await patch(id, { applicationId: "shop" })).toMatchObject({ status: 200 });
    expect((await organization.member("GET", late.assignments)).body.items).toMatchObject([{ applicationId: "shop" }, { applicationId: "shop" }]);
    await relabel(agents[0], { env: "dev" });
    expect(await installed(agents[0])).toEqual([[]]);

    await report("installed", agents[1], late);
    await organization.admin("DELETE", `/certificates/${root}`);
    await runRolloutJob();
    await runPolicyJob();
    const policy = await read(id);
    expect(policy).toMatchObject({ certificateId: other, state: "applied", agents: 2, config: { alias: expect.stringMatching(/^root-[0-9a-f]{8}$/) } });
    const latest = await enrol({ env: "prod" });
    expect(await installed(agents[1], late, latest)).toEqual([[other], [other], [other]]);
    for (const agent of [agents[1], late, latest]) {
      const { items } = (await organization.member("GET", agent.assignments)).body;
      const kept = items.filter((each: { removingSince: string | null }) => each.removingSince === null);
      expect(kept).toMatchObject([{ certificateId: other, config: policy.config, policyId: id }]);
    }
    await remove(id);
    expect(await installed(agents[1], late, latest)).toEqual([[], [], []]);
  });

  /** A policy of a trust anchor on two agents, and on the second of them the successor by an assignment of its own. */
  async function withSuccessorBeside() {
    const fleet = await withPolicies();
    const { organization, agents, root, other } = fleet;
    const { fingerprintSha256 } = (await organization.member("GET", `/certificates/${other}`)).body;
    const place = { config: { alias: `root-${fingerprintSha256.slice(0, 8)}` } };
    const { id } = await fleet.make(aPolicy(root));
    const single = await fleet.assign(agents[1], other, place);
    expect((await organization.admin("POST", `/certificates/${root}/successor`, { body: { certificateId: other } })).status).toBe(201);
    await runRolloutJob();
    async function retire() {
      await report("installed", agents[0], agents[1]);
      await organization.admin("DELETE", `/certificates/${root}`);
      await runRolloutJob();
    }
    return { ...fleet, id: id as string, place, single, retire };
  }

  test("a trust anchor: the old one goes from an agent too where something else has the place of the successor", async () => {
    const { organization, agents, root, other, id, single, retire, installed, read } = await withSuccessorBeside();
    expect(await installed()).toEqual([[root, other], [root, other], []]);
    await retire();
    await runPolicyJob();
    expect(await read(id)).toMatchObject({
      certificateId: other,
      agents: 1,
      conflicts: { total: 1, items: [{ agentId: agents[1].id, assignmentId: single.id }] },
    });
    const [owned] = (await organization.member("GET", agents[1].assignments)).body.items;
    expect(owned).toMatchObject({ certificateId: root, policyId: id, removingSince: expect.any(String) });
    await organization.admin("DELETE", `${agents[1].assignments}/${single.id}`);
    await runPolicyJob();
    expect(await read(id)).toMatchObject({ agents: 2, conflicts: { total: 0 } });
    expect(await installed()).toEqual([[other], [other], []]);
  });

  test.each(["other", "third"])("a trust anchor: where another policy (of the %s) is to come to the same place at once, the older has it", async (name) => {
    const { organization, agents, other, id, place, single, retire, make, importRoots, relabel, installed, read } = await withSuccessorBeside();
    const certificateId = name === "other" ? other : (await importRoots("Third Root"))[0];
    const younger = await make(aPolicy(certificateId ?? "", { selector: "tier=edge", ...place }));
    await retire();
    await organization.admin("DELETE", `${agents[1].assignments}/${single.id}`);
    await relabel(agents[1], { tier: "edge" });
    expect(await installed()).toEqual([[other], [other], []]);
    expect(await read(id)).toMatchObject({ agents: 2, conflicts: { total: 0 } });
    expect(await read(younger.id)).toMatchObject({ agents: 0, conflicts: { total: 1, items: [{ agentId: agents[1].id, policyId: id }] } });
  });

  test("a leaf: its assignments change to the successor, no work of the policy turns them back, and the policy follows", async () => {
    const { organization, agents, make, relabel, installed, read } = await withPolicies();
    const [old, next] = [await importWithKey(organization), await importWithKey(organization)];
    const place = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
    const { id } = await make(aPolicy(old.id, place));
    expect((await organization.admin("POST", `/certificates/${old.id}/successor`, { body: { certificateId: next.id } })).status).toBe(201);
    await relabel(agents[0], { tier: "edge" });
    expect(await installed()).toEqual([[next.id], [next.id], []]);
    await relabel(agents[2], { env: "prod" });
    expect(await installed(agents[2])).toEqual([[old.id]]);
    await runRolloutJob();
    await runPolicyJob();
    expect(await installed()).toEqual([[next.id], [next.id], [next.id]]);
    await report("installed", ...agents);
    await organization.admin("DELETE", `/certificates/${old.id}`);
    await runRolloutJob();
    await runPolicyJob();
    expect(await read(id)).toMatchObject({ certificateId: next.id, agents: 3, version: 2 });
    expect(await installed()).toEqual([[next.id], [next.id], [next.id]]);
  });
});
