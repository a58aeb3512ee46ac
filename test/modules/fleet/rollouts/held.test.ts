import { beforeEach, describe, expect, test } from "bun:test";
import { importWithKey } from "../../../support/server/agents";
import { aRollout, deactivateOtherRollouts, desired, newFleet, report, runPolicyJob, runRolloutJob } from "../../../support/server/fleet";
import { world } from "../../../support/server/world";

beforeEach(deactivateOtherRollouts);
const sql = world.sql;

async function withRollout() {
  const fleet = await newFleet({ env: "canary" }, { env: "prod" });
  const [root = "", other = ""] = await fleet.importRoots("Example Root", "Other Root");
  const { body } = await fleet.organization.admin("POST", "/rollouts", { body: aRollout(root, { config: { alias: "root" } }) });
  const path = `/rollouts/${body.id}`;
  const held = async () => (await Promise.all(fleet.agents.map(desired))).map((items) => items.map((each) => each.certificateId));
  return { ...fleet, root, other, id: String(body.id), path, held };
}
type One = Awaited<ReturnType<typeof withRollout>>;

describe("an attacker who writes to the database", () => {
  test.each<[string, (one: One) => PromiseLike<unknown>]>([
    ["certificate", ({ id, other }) => sql`update rollouts set certificate_id = ${other}, open_ring = 2 where id = ${id}`],
    ["assignment", ({ id }) => sql`update rollouts set assignment = assignment || '{"config": {"alias": "theirs"}}', open_ring = 2 where id = ${id}`],
    ["open ring", ({ id }) => sql`update rollouts set open_ring = 2 where id = ${id}`],
    ["status, which would roll it back,", ({ id }) => sql`update rollouts set status = 'rolling_back' where id = ${id}`],
    ["stamp", ({ id }) => sql`update rollouts set stamp = null, open_ring = 2 where id = ${id}`],
    ["predecessor", ({ id, other }) => sql`update rollouts set predecessor_id = ${other} where id = ${id}`],
  ])("has no host commanded by another %s of a rollout: it goes no further, which is audited once", async (what, attack) => {
    const one = await withRollout();
    expect(await one.held()).toEqual([[one.root], []]);
    await attack(one);
    for (let turn = 0; turn < 2; turn++) await runRolloutJob();
    expect(await one.held()).toEqual([[one.root], []]);
    expect(await one.events("rollout.held")).toMatchObject([{ targetId: one.id, actor: { type: "server" } }]);
    expect((await one.organization.member("GET", one.path)).body).toMatchObject({ heldSince: expect.any(String) });
    const { status, body } = await one.organization.admin("POST", `${one.path}/halt`);
    expect(status).toBe(409);
    if (what !== "status, which would roll it back,") expect(body.message).toContain(`The rollout ${one.id} is held`);
  });

  test("has no certificate replaced or retired by a rotation of its own, nor by another time of a rotation", async () => {
    const { organization, agents, assign, importRoots } = await newFleet({ env: "prod" });
    const [root = "", next = "", theirs = ""] = await importRoots("Example Root", "Next Root", "Their Root");
    await assign(agents[0], root, { config: { alias: "root" } });
    await report("installed", ...agents);
    await sql`
      insert into rollouts (organization_id, id, name, certificate_id, predecessor_id, rings, halt_share, success_share)
      values (${organization.id}, ${Bun.randomUUIDv7()}, 'theirs', ${theirs}, ${root}, '[{"selector": null, "share": 1}]', 0.1, 1)`;
    await runRolloutJob();
    expect((await desired(agents[0])).map((each) => each.certificateId)).toEqual([root]);

    await sql`delete from rollouts where organization_id = ${organization.id}`;
    const path = `/certificates/${root}/successor`;
    expect((await organization.admin("POST", path, { body: { certificateId: next, retire: { share: 1, holdSeconds: 86_400 } } })).status).toBe(201);
    await report("installed", ...agents);
    await runRolloutJob();
    await sql`update rollouts set hold_seconds = 0, reached_at = now() - interval '1 day' where predecessor_id = ${root}`;
    await runRolloutJob();
    expect((await organization.member("GET", `/certificates/${root}`)).body.status).toBe("active");
  });

  test("has nothing taken from policies by another end of the rotation that they followed", async () => {
    const { organization, agents, importRoots } = await newFleet({ env: "prod" });
    const [root = "", next = ""] = await importRoots("Example Root", "Next Root");
    const body = { selector: "env=prod", applicationId: "x", certificateId: root, trustStoreType: "linux_update_ca_certificates", config: { alias: "root" } };
    const policy = (await organization.admin("POST", "/assignment-policies", { body })).body;
    await organization.admin("POST", `/certificates/${root}/successor`, { body: { certificateId: next } });
    const both = (await desired(agents[0])).map((each) => each.certificateId);
    expect(both.toSorted()).toEqual([root, next].toSorted());
    await sql`update rollouts set status = 'rolled_back' where predecessor_id = ${root}`;
    await sql`update assignment_policies set applied_up_to = '00000000-0000-0000-0000-000000000000' where id = ${policy.id}`;
    await runPolicyJob();
    expect((await desired(agents[0])).map((each) => each.certificateId)).toEqual(both);
  });

  test("has no assignment that was changed there rotated: it stays held", async () => {
    const { organization, agents, assign, importRoots } = await newFleet({ env: "prod" });
    const [root = "", next = ""] = await importRoots("Example Root", "Next Root");
    const { id } = await assign(agents[0], root, { config: { alias: "root" } });
    await sql`update assignments set config = '{"alias": "theirs"}' where id = ${id}`;
    await organization.admin("POST", `/certificates/${root}/successor`, { body: { certificateId: next } });
    await runRolloutJob();
    expect((await agents[0].call("GET", "/agent/assignments")).body).toMatchObject({ items: [], keep: [id], remove: [] });
  });

  test("has no host get the successor by turning renewal on there", async () => {
    const { organization, agents, assign } = await newFleet({ env: "prod" });
    const [old, next] = [await importWithKey(organization), await importWithKey(organization)];
    const off = { trustStoreType: "nginx_tls", includePrivateKey: true, autoRenew: false, config: { trustStorePath: "/etc/nginx/tls" } };
    const { id } = await assign(agents[0], old.id, off);
    await sql`update assignments set auto_renew = true where id = ${id}`;
    await organization.admin("POST", `/certificates/${old.id}/successor`, { body: { certificateId: next.id } });
    await runRolloutJob();
    expect((await agents[0].call("GET", "/agent/assignments")).body).toMatchObject({ items: [], keep: [id], remove: [] });
    expect((await organization.member("GET", `${agents[0].assignments}/${id}`)).body).toMatchObject({ certificateId: old.id, version: 1 });
  });
});
