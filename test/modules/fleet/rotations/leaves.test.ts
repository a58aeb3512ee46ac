import { beforeEach, describe, expect, test } from "bun:test";
import { importWithKey } from "../../../support/server/agents";
import { deactivateOtherRollouts, desired, newFleet, report, runRolloutJob, type TestAgent } from "../../../support/server/fleet";

beforeEach(deactivateOtherRollouts);

const serverAt = (trustStorePath: string, rest: object = {}) => ({
  trustStoreType: "nginx_tls",
  materialType: "server_certificate",
  includePrivateKey: true,
  config: { trustStorePath },
  ...rest,
});

async function withLeaf(...labels: Record<string, string>[]) {
  const fleet = await newFleet(...(labels.length > 0 ? labels : [{}]));
  const [old, next] = [await importWithKey(fleet.organization), await importWithKey(fleet.organization)];
  const path = `/certificates/${old.id}/successor`;
  const start = async (rest: object = {}) => (await fleet.organization.admin("POST", path, { body: { certificateId: next.id, ...rest } })).body;
  const read = async () => (await fleet.organization.member("GET", path)).body;
  const [agent] = fleet.agents as unknown as [TestAgent];
  return { ...fleet, agent, old, next, path, start, read };
}

const bound = async (agent: TestAgent) => (await desired(agent)).map((each) => each.certificateId);

describe("a leaf and its successor, which cannot lie in one place", () => {
  test("change places: the assignment stays and has the successor, with its key", async () => {
    const { organization, agent, old, next, assign, start, read, events } = await withLeaf();
    const before = await assign(agent, old.id, serverAt("/etc/nginx/tls"));
    const { id } = await start();
    const [item] = await desired(agent);
    expect(item).toMatchObject({ id: before.id, version: 2, certificateId: next.id, privateKeyPem: next.privateKeyPem });
    const { commonName, updatedAt, ...rest } = (await organization.member("GET", `${agent.assignments}/${before.id}`)).body;
    expect(rest).toMatchObject({ config: before.config, autoRenew: true, enabled: true, etag: '"2"' });
    expect([commonName === before.commonName, updatedAt >= before.updatedAt]).toEqual([false, true]);
    expect(await events("assignment.updated")).toMatchObject([
      { targetId: before.id, details: { rolloutId: id, changes: { certificateId: { from: old.id, to: next.id } } } },
    ]);
    expect(await read()).toMatchObject({ total: 1, observed: 0, skipped: 0 });
    await report("installed", agent);
    expect(await read()).toMatchObject({ total: 1, observed: 1, share: 1 });
  });

  test("an old failure says nothing of the successor", async () => {
    const { agent, old, assign, start, read } = await withLeaf();
    await assign(agent, old.id, serverAt("/etc/nginx/tls"));
    await report("failed", agent);
    await start();
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "overlapping", failed: 0 });
    await report("failed", agent);
    await runRolloutJob();
    expect(await read()).toMatchObject({ status: "halted", failed: 1 });
  });

  test("not where renewal is off, nor where the successor has the place: these count as skipped", async () => {
    const { agent, old, next, assign, start, read } = await withLeaf();
    await assign(agent, old.id, serverAt("/a"));
    await assign(agent, old.id, serverAt("/b", { autoRenew: false }));
    await assign(agent, old.id, serverAt("/c", { config: { trustStorePath: "/c", autoRenew: false } }));
    await assign(agent, old.id, serverAt("/d"));
    await assign(agent, next.id, serverAt("/d"));
    await assign(agent, old.id, serverAt("/e", { autoRenew: false, enabled: false }));
    await assign(agent, old.id, serverAt("/f", { enabled: false }));
    await start();
    expect((await bound(agent)).toSorted()).toEqual([old.id, old.id, old.id, next.id, next.id].toSorted());
    expect(await read()).toMatchObject({ total: 4, observed: 0, skipped: 3 });
    await report("installed", agent);
    await runRolloutJob();
    expect(await read()).toMatchObject({ total: 4, observed: 1, skipped: 3, share: 0.25, version: 1 });
  });

  test("in PEM files of two presets change both; not where the successor has the files by their path", async () => {
    const { organization, agent, old, next, path, assign, start, read } = await withLeaf();
    const inFiles = (config: object) => serverAt("", { trustStoreType: "pem_files", config });
    const configs = [{ preset: "postfix" }, { preset: "dovecot" }, { preset: "squid" }];
    for (const config of configs) await assign(agent, old.id, inFiles(config));
    await assign(agent, next.id, inFiles({ trustStorePath: "/etc/squid/tls" }));
    await start();
    expect([await bound(agent), await read()]).toMatchObject([[next.id, next.id, old.id, next.id], { total: 3, skipped: 1 }]);
    expect((await organization.admin("DELETE", path)).status).toBe(204);
    await runRolloutJob();
    expect((await desired(agent)).map(({ certificateId, config }) => [certificateId, config])).toMatchObject([
      ...configs.map((config) => [old.id, config]),
      [next.id, { trustStorePath: "/etc/squid/tls" }],
    ]);
  });

  test("change as soon as renewal is on, and when they are assigned later", async () => {
    const { organization, agent, old, next, assign, start, read } = await withLeaf();
    const off = await assign(agent, old.id, serverAt("/a", { autoRenew: false }));
    await start();
    await organization.admin("PATCH", `${agent.assignments}/${off.id}`, { body: { autoRenew: true } });
    await assign(agent, old.id, serverAt("/b"));
    await runRolloutJob();
    expect([await bound(agent), await read()]).toMatchObject([[next.id, next.id], { total: 2, skipped: 0 }]);
    await organization.admin("PATCH", `${agent.assignments}/${off.id}`, { body: { certificateId: old.id } });
    await runRolloutJob();
    expect(await bound(agent)).toEqual([old.id, next.id]);
  });

  test("change ring by ring; who turns renewal off before that keeps the old one", async () => {
    const { organization, agents, old, next, assign, start, read } = await withLeaf({ env: "canary" }, { env: "prod" }, { env: "prod" });
    const [canary, prod, other] = agents as unknown as [TestAgent, TestAgent, TestAgent];
    for (const agent of [canary, prod]) await assign(agent, old.id, serverAt("/etc/nginx/tls"));
    const { id } = await assign(other, old.id, serverAt("/etc/nginx/tls"));
    await start({ rings: [{ selector: "env=canary" }] });
    const all = async () => (await Promise.all(agents.map(bound))).flat();
    expect([await all(), await read()]).toMatchObject([[next.id, old.id, old.id], { total: 3, skipped: 0 }]);
    await organization.admin("PATCH", `${other.assignments}/${id}`, { body: { autoRenew: false } });
    await report("installed", canary);
    await runRolloutJob();
    expect(await all()).toEqual([next.id, next.id, old.id]);
    await runRolloutJob();
    expect(await read()).toMatchObject({ total: 3, observed: 1, skipped: 1 });
  });

  test("a certificate that is a leaf here and an anchor there is both", async () => {
    const { agent, old, next, assign, start } = await withLeaf();
    await assign(agent, old.id, serverAt("/etc/nginx/tls"));
    await assign(agent, old.id, { config: { alias: "self" } });
    await start();
    expect((await bound(agent)).toSorted()).toEqual([old.id, next.id, next.id].toSorted());
  });
});
