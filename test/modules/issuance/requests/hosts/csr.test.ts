import { describe, expect, test } from "bun:test";
import { KEYS, newCsr } from "../../../../support/pki/csr";
import { newAgent } from "../../../../support/server/agents";
import { call } from "../../../../support/server/call";
import { newOrganization } from "../../../../support/server/people";
import { orderFor } from "./orders";

const NAMES = "DNS:www.certitude.example,IP:192.0.2.1";

async function newOrder() {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const requests = await orderFor({ ...agent, organization }, "/etc/ssl/example");
  const { id } = await requests.order();
  const send = (csrPem: string, by = agent) => by.call("POST", `/agent/certificate-requests/${id}/csr`, { body: { csrPem } });
  const fault = (body: object, by = agent) => by.call("POST", `/agent/certificate-requests/${id}/faults`, { body });
  return { organization, agent, requests, id, send, fault };
}

describe("POST /agent/certificate-requests/{requestId}/csr", () => {
  test("401 for whatever is no agent; 404 for a request of another agent, of a server's key, of none", async () => {
    const { organization, requests, id, send } = await newOrder();
    const { csrPem } = await newCsr({ names: NAMES });
    expect(await call("POST", `/agent/certificate-requests/${id}/csr`, { body: { csrPem } })).toMatchObject({ status: 401, body: "" });
    expect((await send(csrPem, await newAgent(organization, { name: "other" }))).status).toBe(404);
    const agent = await newAgent(organization, { name: "third" });
    const { id: servers } = await requests.order({ key: { location: "server" }, deployment: undefined, names: ["other.certitude.example"] });
    for (const each of [servers, crypto.randomUUID(), "x"])
      expect((await agent.call("POST", `/agent/certificate-requests/${each}/csr`, { body: { csrPem } })).status).toBe(404);
  });

  test.each([
    ["another name besides", { names: `${NAMES},DNS:other.example` }, /has the name other.example/],
    ["a name too few", { names: "DNS:www.certitude.example" }, /lacks the name 192.0.2.1/],
    ["a weak key", { names: NAMES, key: KEYS["rsa-1024"] }, /1024 bits/],
    ["another algorithm", { names: NAMES, key: KEYS["rsa-2048"] }, /a key of rsa-2048, where ecdsa-p256 is asked for/],
  ])("400 for %s", async (_, wish, words) => {
    const { send, requests, id } = await newOrder();
    const { csrPem } = await newCsr(wish);
    expect(await send(csrPem)).toMatchObject({ status: 400, body: { message: expect.stringMatching(words) } });
    expect((await requests.get(id)).status).toBe("pending");
  });

  test("204, and again for another request of the same key; 409 for one of another key, and once it is cancelled", async () => {
    const { send, requests, id, agent } = await newOrder();
    const { csrPem, keyPem } = await newCsr({ names: NAMES });
    const keys = async () => (await agent.call("GET", "/agent/assignments")).body.keys;
    const [asked] = await keys();
    expect(asked).toEqual({
      requestId: id,
      algorithm: "ecdsa-p256",
      commonName: "www.certitude.example",
      names: [
        { type: "dns", value: "www.certitude.example" },
        { type: "ip", value: "192.0.2.1" },
      ],
      hasCsr: false,
      assignment: { id, trustStoreType: "pem_files", materialType: "server_certificate", config: requests.deployment.config },
    });
    expect((await send(csrPem)).status).toBe(204);
    expect(await keys()).toEqual([{ ...asked, hasCsr: true }]);
    const { csrPem: again } = await newCsr({ names: NAMES, keyPem });
    expect(again).not.toBe(csrPem);
    for (const each of [csrPem, again]) expect((await send(each)).status).toBe(204);
    const { csrPem: other } = await newCsr({ names: NAMES });
    expect((await send(other)).status).toBe(409);
    await requests.cancel(id);
    expect(await keys()).toEqual([]);
    const { id: cancelled } = await requests.order();
    await requests.cancel(cancelled);
    expect((await agent.call("POST", `/agent/certificate-requests/${cancelled}/csr`, { body: { csrPem } })).status).toBe(409);
  });
});

describe("POST /agent/certificate-requests/{requestId}/faults", () => {
  test("204 and a step of the request, once; 404 for another agent and for what is over", async () => {
    const { organization, agent, requests, id, fault } = await newOrder();
    const body = { state: "failed", message: "/etc/ssl/example does not exist on this host." };
    expect((await fault(body, await newAgent(organization, { name: "other" }))).status).toBe(404);
    for (let turn = 0; turn < 2; turn++) expect((await fault(body)).status).toBe(204);
    const { reason, steps } = await requests.get(id);
    expect(reason).toBe("The agent has no key for it: /etc/ssl/example does not exist on this host.");
    expect(steps.filter((each: { reason: string }) => each.reason === reason)).toHaveLength(1);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items).toContainEqual(
      expect.objectContaining({ action: "certificate-request.key-failed", targetId: id, actor: expect.objectContaining({ type: "agent", id: agent.id }) }),
    );
    await requests.cancel(id);
    expect((await fault(body)).status).toBe(404);
  });
});
