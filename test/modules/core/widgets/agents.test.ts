import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { show } from "../../../support/server/dashboards";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

type Agent = { name: string; minutes?: number; platform?: string; labels?: object };

async function addAgent({ id }: TestOrganization, { name, minutes, platform, labels = {} }: Agent) {
  const agentId = Bun.randomUUIDv7();
  const seen = minutes === undefined ? null : new Date(Date.now() - minutes * 60_000).toISOString();
  const host = platform === undefined ? null : JSON.stringify({ platform, agentVersion: "1.0" });
  await world.sql`
    insert into agents (organization_id, id, name, labels, token_hash, host, last_seen_at)
    values (${id}, ${agentId}, ${name}, ${JSON.stringify(labels)}::jsonb, decode(${agentId.replaceAll("-", "")}, 'hex'), ${host}::jsonb, ${seen})`;
  return agentId;
}

type Assignment = {
  store?: string;
  material?: string;
  enabled?: boolean;
  state?: string;
  fingerprint?: string;
  message?: string;
  age?: number;
  reported?: number;
};

async function assign({ id }: TestOrganization, agentId: string, certificateId: string, wish: Assignment = {}) {
  const {
    store = "linux_update_ca_certificates",
    material = "trust_anchor",
    enabled = true,
    state = null,
    fingerprint = null,
    message = null,
    age = 60,
    reported = 1,
  } = wish;
  const assignmentId = Bun.randomUUIDv7();
  const before = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  await world.sql`
    insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target,
      auto_renew, enabled, updated_at, reported_state, reported_fingerprint, reported_message, reported_at)
    values (${id}, ${assignmentId}, ${agentId}, ${certificateId}, 'shop', ${store}, ${material}, false, '{}', ${assignmentId}, true, ${enabled}, ${before(age)},
      ${state}, ${fingerprint}, ${message}, ${state && before(reported)})`;
  return assignmentId;
}

describe("GET /organizations/{organizationId}/core/widgets/{widgetId}/data of agents", () => {
  test("200 who is online, late or silent, in groups", async () => {
    const organization = await newOrganization();
    const labels = { env: "prod", zone: "a=b" };
    await addAgent(organization, { name: "web", minutes: 1, platform: "linux", labels });
    await addAgent(organization, { name: "db", minutes: 60, platform: "linux", labels: { env: "test" } });
    await addAgent(organization, { name: "old", minutes: 9_000, platform: "windows" });
    const never = await addAgent(organization, { name: "never" });
    const all = await show(organization, "agent_health");
    expect(all).toMatchObject({ total: 4, online: 1, late: 1, silent: 2 });
    expect(all.groups).toEqual([
      { name: "late", total: 1, online: 0, late: 1, silent: 0 },
      { name: "online", total: 1, online: 1, late: 0, silent: 0 },
      { name: "silent", total: 2, online: 0, late: 0, silent: 2 },
    ]);
    expect(all.agents.map((each: { name: string; status: string }) => [each.name, each.status])).toEqual([
      ["never", "silent"],
      ["old", "silent"],
      ["db", "late"],
      ["web", "online"],
    ]);
    expect(all.agents[0]).toEqual({ agentId: never, name: "never", status: "silent", platform: null, agentVersion: null, lastSeenAt: null });
    const names = async (settings: object) =>
      (await show(organization, "agent_health", settings)).groups.map((each: { name: string; total: number }) => [each.name, each.total]);
    expect(await names({ groupBy: "platform" })).toEqual([
      ["linux", 2],
      ["unknown", 1],
      ["windows", 1],
    ]);
    expect(await names({ groupBy: "version" })).toEqual([
      ["1.0", 3],
      ["unknown", 1],
    ]);
    expect(await names({ groupBy: "label" })).toEqual([
      ["env=prod", 1],
      ["env=test", 1],
      ["zone=a=b", 1],
    ]);
    for (const [agentLabels, total] of [
      [["env"], 2],
      [["env=prod"], 1],
      [["zone=a=b", "env=prod"], 1],
      [["env=prod", "tier"], 0],
      [["env=x"], 0],
    ] as const)
      expect({ agentLabels, total: (await show(organization, "agent_health", { agentLabels })).total }).toEqual({ agentLabels, total });
    expect(await show(organization, "agent_health", { lateAfterMinutes: 90, silentAfterMinutes: 10_000 })).toMatchObject({ online: 2, late: 1, silent: 1 });
  });

  test("200 which assignments are not as they should be, and why", async () => {
    const organization = await newOrganization();
    const minted = certificate({ isCa: true });
    const [certificateId = ""] = await importInto(organization, minted.pem);
    const fingerprint = (await organization.admin("GET", `/certificates/${certificateId}`)).body.fingerprintSha256;
    const agentId = await addAgent(organization, { name: "web", labels: { env: "prod" } });
    const add = (wish: Assignment) => assign(organization, agentId, certificateId, wish);
    const reasons = {
      never_reported: await add({ age: 300 }),
      failed: await add({ age: 200, state: "failed", message: "no space left", store: "java_keystore" }),
      drifted: await add({ age: 190, state: "drifted" }),
      refused: await add({ age: 185, state: "refused" }),
      not_installed: await add({ age: 180, state: "removed" }),
      other_certificate: await add({ age: 170, state: "installed", fingerprint: "00" }),
      outdated: await add({ age: 160, state: "installed", fingerprint, reported: 170 }),
    };
    const notRemoved = await add({ age: 150, enabled: false, state: "installed", fingerprint });
    await add({ state: "installed", fingerprint });
    const refusedRemoval = await add({ age: 140, enabled: false, state: "refused" });
    await add({ enabled: false, state: "removed" });
    await add({ enabled: false });
    await add({ age: 5 });
    const { total, items } = await show(organization, "assignment_drift");
    expect(total).toBe(7);
    expect(items.map((each: { reason: string; assignmentId: string }) => [each.reason, each.assignmentId])).toEqual(Object.entries(reasons));
    expect(items[1]).toMatchObject({
      agentId,
      agentName: "web",
      certificateId,
      trustStoreType: "java_keystore",
      enabled: true,
      version: 1,
      message: "no space left",
    });
    const all = await show(organization, "assignment_drift", { onlyEnabled: false, minimumAgeMinutes: 0 });
    expect(all.total).toBe(10);
    expect(all.items).toContainEqual(expect.objectContaining({ assignmentId: notRemoved, reason: "not_removed" }));
    expect(all.items).toContainEqual(expect.objectContaining({ assignmentId: refusedRemoval, reason: "refused" }));
    expect((await show(organization, "assignment_drift", { trustStoreTypes: ["java_keystore"] })).items).toHaveLength(1);
    expect((await show(organization, "assignment_drift", { agentLabels: ["env=test"] })).items).toEqual([]);
  });

  test("200 which stores are covered on which platforms", async () => {
    const organization = await newOrganization();
    const [certificateId = ""] = await importInto(organization, certificate({ isCa: true }).pem);
    const [linux, unknown] = [await addAgent(organization, { name: "a", platform: "linux" }), await addAgent(organization, { name: "b" })];
    for (const agentId of [linux, linux, unknown]) await assign(organization, agentId, certificateId);
    await assign(organization, linux, certificateId, { store: "java_keystore", material: "intermediate_ca" });
    await assign(organization, linux, certificateId, { store: "java_keystore", enabled: false });
    const coverage = await show(organization, "trust_store_coverage");
    expect(coverage.rows).toEqual([
      { key: "java_keystore", displayName: expect.any(String) },
      { key: "linux_update_ca_certificates", displayName: expect.stringContaining("Debian") },
    ]);
    expect(coverage.columns).toEqual(["linux", "unknown"]);
    expect(coverage.cells).toEqual([
      { row: "java_keystore", column: "linux", assignments: 1, agents: 1 },
      { row: "linux_update_ca_certificates", column: "linux", assignments: 2, agents: 1 },
      { row: "linux_update_ca_certificates", column: "unknown", assignments: 1, agents: 1 },
    ]);
    const byCategory = await show(organization, "trust_store_coverage", { rows: "category", materialTypes: ["trust_anchor"], onlyEnabled: false });
    expect(byCategory.cells).toContainEqual({ row: "os", column: "linux", assignments: 2, agents: 1 });
    expect(byCategory.rows).toHaveLength(2);
  });
});
