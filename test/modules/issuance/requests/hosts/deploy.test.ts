import { describe, expect, test } from "bun:test";
import { newCsr } from "../../../../support/pki/csr";
import { importWithKey, newAgent } from "../../../../support/server/agents";
import { newOrganization } from "../../../../support/server/people";
import { world } from "../../../../support/server/world";
import { renew } from "../../renewals/renewals";
import { work } from "../requests";
import { orderFor } from "./orders";

const NAMES = "DNS:www.certitude.example,IP:192.0.2.1";
const sql = world.sql;

/** An agent that sends a signing request for what it is asked for. */
async function newHost() {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const requests = await orderFor({ ...agent, organization }, "/etc/ssl/example");
  const desired = async () => (await agent.call("GET", "/agent/assignments")).body;
  const answer = async () => {
    for (const { requestId } of (await desired()).keys) {
      const { csrPem } = await newCsr({ names: NAMES });
      await agent.call("POST", `/agent/certificate-requests/${requestId}/csr`, { body: { csrPem } });
    }
    await work();
  };
  return { organization, agent, requests, desired, answer };
}

describe("a certificate that was issued for an agent's key", () => {
  test("is its agent's from the same moment on, with no key; its assignment changes by another request alone", async () => {
    const { organization, agent, requests, desired, answer } = await newHost();
    const { id } = await requests.order();
    await answer();
    const { certificateId, status } = await requests.get(id);
    expect(status).toBe("issued");
    expect(await desired()).toMatchObject({ keys: [], items: [{ id, certificateId, keyOnHost: true, includePrivateKey: false, privateKeyPem: null }] });
    const path = `${agent.assignments}/${id}`;
    const other = await importWithKey(organization);
    for (const body of [{ includePrivateKey: true }, { certificateId: other.id }])
      expect(await organization.admin("PATCH", path, { body })).toMatchObject({ status: 400, body: { message: expect.stringContaining("the host's own") } });
    expect((await organization.admin("PATCH", path, { body: { applicationId: "mail", config: { alias: "site" } } })).status).toBe(200);
    expect((await desired()).items).toMatchObject([{ id, keyOnHost: true, config: { alias: "site" } }]);
    const rotation = { certificateId: other.id };
    expect((await organization.admin("POST", `/certificates/${certificateId}/successor`, { body: rotation })).status).toBe(201);
    expect((await desired()).items).toMatchObject([{ id, certificateId }]);
  });

  test("takes the place of the one that it replaces, whose key the server had", async () => {
    const { organization, agent, requests, desired, answer } = await newHost();
    const stored = await importWithKey(organization);
    const { agentId: _, ...place } = requests.deployment;
    const { body: before } = await organization.admin("POST", agent.assignments, {
      body: { ...place, certificateId: stored.id, includePrivateKey: true, autoRenew: false },
    });
    await requests.renew(stored.id);
    expect((await desired()).keys).toMatchObject([{ assignment: { id: before.id } }]);
    await answer();
    expect(await requests.assignment(before.id)).toMatchObject({ version: 2, keyOnHost: true, includePrivateKey: false, autoRenew: false });
    const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
    expect(items.find(({ action }: { action: string }) => action === "assignment.updated")).toMatchObject({
      targetId: before.id,
      actor: { type: "server" },
      details: { changes: { keyOnHost: { from: false, to: true }, certificateId: { from: stored.id } } },
    });
  });

  test("is renewed without a person: the same host is asked for a new key, as the server ordered it before, and only so", async () => {
    const { organization, requests, desired, answer } = await newHost();
    const { id } = await requests.order();
    await answer();
    await renew(organization);
    await renew(organization, 61);
    const { keys, items } = await desired();
    expect(keys).toMatchObject([{ hasCsr: false, assignment: { id, config: requests.deployment.config } }]);
    await answer();
    const renewed = await desired();
    expect(renewed).toMatchObject({ keys: [], items: [{ id, keyOnHost: true, version: 2 }] });
    expect(renewed.items[0].certificateId).not.toBe(items[0].certificateId);
    await sql`update certificate_requests set deployment = jsonb_set(deployment, '{config,reloadCommand}', '["theirs"]') where organization_id = ${organization.id}`;
    await renew(organization, 61);
    await renew(organization, 61);
    const open = await sql`select from certificate_requests where organization_id = ${organization.id} and ended_at is null`;
    expect([open.length, (await desired()).keys]).toEqual([1, []]);
  });

  test("waits for an approval, where one is needed: no key is asked for before", async () => {
    const { requests, desired } = await newHost();
    const { id } = await requests.order();
    await sql`update certificate_requests set approval = 'awaited' where id = ${id}`;
    expect((await desired()).keys).toEqual([]);
  });
});

describe("an attacker who writes to the database", () => {
  test.each([
    [
      "place",
      (id: string) => sql`update certificate_requests set deployment = jsonb_set(deployment, '{config,trustStorePath}', '"/etc/theirs"') where id = ${id}`,
    ],
    ["name", (id: string) => sql`update certificate_requests set names = '[{"type": "dns", "value": "theirs.example"}]' where id = ${id}`],
    ["stamp", (id: string) => sql`update certificate_requests set stamp = null where id = ${id}`],
  ])("has no key made for another %s of a request", async (_, attack) => {
    const { requests, desired } = await newHost();
    const { id } = await requests.order();
    expect((await desired()).keys).toHaveLength(1);
    await attack(id);
    expect((await desired()).keys).toEqual([]);
  });

  test("has no certificate installed at a place of its own, nor an assignment's key called the host's", async () => {
    const { requests, desired, answer, agent } = await newHost();
    const { id } = await requests.order();
    const { csrPem } = await newCsr({ names: NAMES });
    await agent.call("POST", `/agent/certificate-requests/${id}/csr`, { body: { csrPem } });
    await sql`update certificate_requests set deployment = jsonb_set(deployment, '{config,reloadCommand}', '["theirs"]') where id = ${id}`;
    await answer();
    expect((await requests.get(id)).status).toBe("failed");
    expect(await desired()).toMatchObject({ items: [], keys: [] });
    const { id: second } = await requests.order();
    await answer();
    expect((await desired()).items).toHaveLength(1);
    await sql`update assignments set key_on_host = false where id = ${second}`;
    expect(await desired()).toMatchObject({ items: [], keep: [second] });
  });
});
