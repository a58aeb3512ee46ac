import { describe, expect, test } from "bun:test";
import { anAssignment, importWithKey } from "../../../support/server/agents";
import { desired, report, runPolicyJob } from "../../../support/server/fleet";
import { aPolicy, askInTurn, IS_ONE_SESSION, PATH, withPolicies } from "./policies";

async function withOne(rest: object = {}) {
  const fleet = await withPolicies();
  const policy = await fleet.make(aPolicy(fleet.root, rest));
  return { ...fleet, policy, id: policy.id as string };
}

describe("GET /organizations/{organizationId}/assignment-policies", () => {
  test("200 the oldest first, page by page", async () => {
    const { organization, root, make } = await withPolicies();
    const ids: string[] = [];
    for (const alias of ["a", "b", "c"]) ids.push((await make(aPolicy(root, { config: { alias } }))).id);
    const first = (await organization.member("GET", `${PATH}?limit=2`)).body;
    const second = (await organization.member("GET", `${PATH}?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...first.items, ...second.items].map((each: { id: string }) => each.id)).toEqual(ids);
    expect(second.nextCursor).toBeNull();
    expect(first.items[0]).not.toHaveProperty("conflicts");
  });
});

describe("PATCH /organizations/{organizationId}/assignment-policies/{policyId}", () => {
  test.each([
    [{ selector: "env=" }, "body.selector cannot be read"],
    [{ config: { alias: "a/b" } }, "body.config.alias must be one plain name"],
    [{ config: { alias: "-J-Xlog:all" } }, "body.config.alias must be one plain name"],
    [{ config: { alias: "*" } }, "body.config.alias must be one plain name of the letters A to Z"],
    [{ config: { nodeFlags: ["--use-openssl-ca"] } }, "body.config.nodeFlags does not apply to linux_update_ca_certificates."],
    [{ materialType: "server_certificate" }, "body.materialType must be one of trust_anchor, intermediate_ca"],
    [{ trustStoreType: "java_cacerts" }, "body.trustStoreType is not a known field."],
  ])("400 for %j", async (change, message) => {
    const { id, patch, policy, read } = await withOne();
    const { status, body } = await patch(id, change);
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
    expect(await read(id)).toEqual(policy);
  });

  test("404 for another organization's, 412 for another version", async () => {
    const [mine, theirs] = [await withOne(), await withOne()];
    expect((await mine.patch(theirs.id, { name: "x" })).status).toBe(404);
    expect((await mine.patch(mine.id, { name: "x" }, { "if-match": '"9"' })).status).toBe(412);
    expect((await mine.patch(mine.id, { name: "x" }, { "if-match": '"1"' })).body).toMatchObject({ name: "x", version: 2 });
  });

  test("200 another selector moves the assignments to whom it matches", async () => {
    const { id, root, patch, installed, events } = await withOne();
    expect(await patch(id, { selector: "env=dev" })).toMatchObject({ status: 200, body: { selector: "env=dev", agents: 1, version: 2 } });
    expect(await installed()).toEqual([[], [], [root]]);
    await patch(id, { selector: null });
    expect(await installed()).toEqual([[root], [root], [root]]);
    expect(await events("assignment-policy.updated")).toMatchObject([
      { details: { changes: { selector: { from: "env=dev", to: null } } } },
      { details: { changes: { selector: { from: "env=prod", to: "env=dev" } } } },
    ]);
  });

  test("200 other facts change each assignment in place, once", async () => {
    const { organization, agents, id, other, patch, events } = await withOne();
    const [before] = (await organization.member("GET", agents[0].assignments)).body.items;
    const { body } = await patch(id, { certificateId: other, autoRenew: false, config: { alias: "moved", verifyEndpoint: "https://example.org" } });
    expect(body).toMatchObject({ certificateId: other, autoRenew: false, version: 2, agents: 2 });
    const [after, ...more] = (await organization.member("GET", agents[0].assignments)).body.items;
    expect(more).toEqual([]);
    expect(after).toMatchObject({ id: before.id, certificateId: other, autoRenew: false, config: body.config, version: 2 });
    expect((await events("assignment-policy.updated"))[0].details.changes).toEqual({
      certificateId: { from: before.certificateId, to: other },
      autoRenew: { from: true, to: false },
      "config.alias": { from: "root", to: "moved" },
      "config.verifyEndpoint": { from: null, to: "https://example.org" },
    });
    expect(await events("assignment.updated")).toHaveLength(2);
    await patch(id, { config: { verifyEndpoint: null } });
    const [last] = (await organization.member("GET", agents[0].assignments)).body.items;
    expect(last).toMatchObject({ id: before.id, config: { alias: "moved" }, version: 3 });
    expect(last.config).not.toHaveProperty("verifyEndpoint");
  });

  test("200 what is the same already changes nothing", async () => {
    const { id, root, patch, policy, events } = await withOne({ name: "Roots" });
    expect((await patch(id, { name: "Roots", selector: "env=prod", certificateId: root, config: { alias: "root" } })).body).toEqual(policy);
    expect(await events("assignment-policy.updated")).toEqual([]);
  });

  test("200 a policy that is disabled keeps its place, and the agents take it out", async () => {
    const { id, organization, agents, patch, installed, other, assign } = await withOne();
    await patch(id, { enabled: false });
    expect(await installed()).toEqual([[], [], []]);
    expect((await organization.member("GET", agents[0].assignments)).body.items).toMatchObject([{ enabled: false, policyId: id }]);
    await expect(assign(agents[0], other, { config: { alias: "root" } })).rejects.toThrow("409");
  });

  test("409 where something else has the new place, or the place on an agent that matches now; nothing changes", async () => {
    const { id, agents, other, root, patch, installed, assign, read, policy } = await withOne();
    const elsewhere = await assign(agents[1], other, { config: { alias: "other" } });
    const dev = await assign(agents[2], other, { config: { alias: "root" } });
    expect(await patch(id, { config: { alias: "other" } })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining(`by the assignment ${elsewhere.id}`) },
    });
    expect(await patch(id, { selector: null })).toMatchObject({ status: 409, body: { message: expect.stringContaining(`by the assignment ${dev.id}`) } });
    expect(await read(id)).toEqual(policy);
    expect(await installed()).toEqual([[root], [root, other], [other]]);
    const dry = await patch(id, { selector: null, dryRun: true });
    expect(dry).toMatchObject({ status: 200, body: { agents: 2, conflicts: { total: 1, items: [{ assignmentId: dev.id }] } } });
    expect(await read(id)).toEqual(policy);
  });
});

test("PATCH /assignment-policies/{policyId} 200 where an assignment took the new place after that was judged: the policy's own goes, and comes there once the place is free", async () => {
  const { organization, agents, root, other, id, patch, read, installed, events } = await withOne();
  const [agent] = agents;
  await report("installed", agent);
  const assign = () => organization.admin("POST", agent.assignments, { body: anAssignment(other, { config: { alias: "moved" } }) });
  const statuses = await askInTurn(agent, [assign, () => patch(id, { config: { alias: "moved" } })]);
  if (IS_ONE_SESSION) return expect(statuses).toEqual([201, 409]);
  expect(statuses).toEqual([201, 200]);
  const [owned, single] = (await organization.member("GET", agent.assignments)).body.items;
  expect(owned).toMatchObject({ policyId: id, config: { alias: "root" }, removingSince: expect.any(String) });
  expect(await read(id)).toMatchObject({ agents: 1, conflicts: { total: 1, items: [{ agentId: agent.id, assignmentId: single.id, policyId: null }] } });
  expect(await installed()).toEqual([[other], [root], []]);
  expect(await events("assignment.removing")).toMatchObject([{ targetId: owned.id, details: { policyId: id, agentId: agent.id } }]);

  await organization.admin("DELETE", `${agent.assignments}/${single.id}`);
  await runPolicyJob();
  expect(await read(id)).toMatchObject({ agents: 2, conflicts: { total: 0 } });
  expect(await desired(agent)).toMatchObject([{ certificateId: root, config: { alias: "moved" } }]);
});

describe("DELETE /organizations/{organizationId}/assignment-policies/{policyId}", () => {
  test("204, its assignments are removing where an agent has been, else deleted, and it is not found any more", async () => {
    const { id, organization, agents, remove, installed, events, assign, other } = await withOne({ name: "Roots" });
    await report("installed", agents[0]);
    expect((await remove(id)).status).toBe(204);
    expect(await installed()).toEqual([[], [], []]);
    expect((await remove(id)).status).toBe(404);
    expect((await organization.member("GET", `${PATH}/${id}`)).status).toBe(404);
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
    expect(await events("assignment-policy.deleted")).toMatchObject([{ targetId: id, details: { name: "Roots", selector: "env=prod" } }]);
    expect(await events("assignment.removing")).toMatchObject([{ details: { policyId: id, agentId: agents[0].id } }]);
    expect(await events("assignment.deleted")).toMatchObject([{ details: { policyId: id, agentId: agents[1].id } }]);
    await assign(agents[0], other, { config: { alias: "root" } });
    expect(await desired(agents[0])).toHaveLength(1);
  });

  test("412 for another version", async () => {
    const { id, organization } = await withOne();
    expect((await organization.admin("DELETE", `${PATH}/${id}`, { headers: { "if-match": '"9"' } })).status).toBe(412);
  });
});

test("a policy of a leaf with its private key gives it to those who match alone", async () => {
  const { organization, make, agents } = await withPolicies();
  const leaf = await importWithKey(organization);
  const place = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
  await make(aPolicy(leaf.id, place));
  const [item] = (await agents[0].call("GET", "/agent/assignments")).body.items;
  expect(item).toMatchObject({ certificateId: leaf.id, privateKeyPem: expect.stringContaining("PRIVATE KEY") });
  expect(await desired(agents[2])).toEqual([]);
});
