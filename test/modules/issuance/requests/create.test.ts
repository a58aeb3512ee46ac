import { describe, expect, test } from "bun:test";
import { newCsr } from "../../../support/pki/csr";
import { newAuthority, rootBody } from "../../../support/pki/issuing";
import { newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { authority } from "../issuers/issuers";
import { newName, newSetting, PATH } from "./requests";

const deployment = (agentId: string) => ({ agentId, applicationId: "shop", trustStoreType: "nginx_tls", config: { trustStorePath: "/etc/nginx/tls" } });

describe("POST /organizations/{organizationId}/certificate-requests", () => {
  test("403 for an ORG_MEMBER, whatever the body", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", PATH, { body: { nonsense: true } })).status).toBe(403);
  });

  test.each([
    [{ names: [] }, /^body\.names must /],
    [{ names: ["com"] }, "body.names[0] must not be the public suffix com."],
    [{ names: ["a.example", "a_b"] }, "body.names[1] must be a DNS name or an IP address."],
    [{ names: Array.from({ length: 101 }, newName) }, /^body\.names must /],
    [{ key: { location: "cloud" } }, /^body\.key\.location must be one of /],
    [{ key: { location: "server", algorithm: "rsa-1024" } }, /^body\.key\.algorithm must be one of /],
    [{ key: { location: "csr" } }, "body.csrPem is required with the key location csr."],
    [{ csrPem: "x" }, "body.csrPem must not be given with the key location server."],
    [{ key: { location: "csr" }, csrPem: "x" }, "body.csrPem must be one block -----BEGIN CERTIFICATE REQUEST----- in PEM."],
    [{ key: { location: "agent" } }, "body.deployment is required with the key location agent."],
    [{ deployment: deployment(crypto.randomUUID()) }, "body.deployment must not be given with the key location server."],
    [{ renewAt: "2020-01-01T00:00:00Z" }, "body.renewAt must be in the future."],
    [
      { key: { location: "agent" }, deployment: { ...deployment(crypto.randomUUID()), config: { colour: "red" } } },
      "body.deployment.config.colour is not a known field.",
    ],
    [
      { key: { location: "agent" }, deployment: { ...deployment(crypto.randomUUID()), config: { alias: "x", trustStorePath: "../x" } } },
      /^body\.deployment\.config\.trustStorePath must be a path/,
    ],
    [
      { key: { location: "agent" }, deployment: { ...deployment(crypto.randomUUID()), config: { alias: "-J-Xlog:all", trustStorePath: "/etc/tls" } } },
      /^body\.deployment\.config\.alias must be one plain name/,
    ],
    [{ renewAt: "tomorrow" }, /^body\.renewAt must be /],
    [{ colour: "red" }, "body.colour is not a known field."],
  ])("400 for %j", async (rest, message) => {
    const { organization, ask } = await newSetting();
    const answer = await ask(rest);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
  });

  test("400 for a CSR of other names, or with another key than is said", async () => {
    const { ask } = await newSetting();
    const { csrPem } = await newCsr();
    const key = { location: "csr" };
    expect((await ask({ csrPem, key })).body.message).toMatch(/^body\.csrPem lacks the name /);
    const named = { csrPem, names: ["www.example.org"] };
    expect((await ask({ ...named, key: { ...key, algorithm: "rsa-2048" } })).body.message).toBe(
      "body.csrPem has a key of ecdsa-p256, not of body.key.algorithm.",
    );
    expect(await ask({ ...named, key })).toMatchObject({ status: 202, body: { key: { location: "csr", algorithm: "ecdsa-p256" } } });
  });

  test("400 for a wildcard at an ACME issuer that has no dns-01", async () => {
    const { organization, ask, issuer } = await newSetting();
    const names = [`*.${newName()}`];
    expect((await ask({ names })).body.message).toBe("body.names has a wildcard, which only dns-01 can prove: this issuer has no such challenge.");
    const { id: authorityId } = await newAuthority(organization, rootBody);
    const { body: other } = await organization.admin("POST", "/issuers", { body: authority({ config: { authorityId } }) });
    expect([issuer.kind, (await ask({ issuerId: other.id, names })).status]).toEqual(["acme", 202]);
  });

  test("404 for an issuer or agent that is not the organization's", async () => {
    const [{ ask }, other] = [await newSetting(), await newSetting()];
    expect(await ask({ issuerId: other.issuer.id })).toMatchObject({ status: 404, body: { message: "There is no such issuer in this organization." } });
    expect((await ask({ issuerId: "x" })).status).toBe(404);
    const agent = await newAgent(other.organization);
    expect(await ask({ key: { location: "agent" }, deployment: deployment(agent.id) })).toMatchObject({
      status: 404,
      body: { message: "There is no such agent in this organization." },
    });
  });

  test("409 with the id of the one that is open for the same names at the same issuer", async () => {
    const { organization, ask, order } = await newSetting();
    const names = ["b.example.org", "a.example.org"];
    const { id } = await order({ names });
    expect(await ask({ names: ["A.example.org.", "b.example.org"] })).toMatchObject({
      status: 409,
      body: { message: `The certificate request ${id} is open for these names at this issuer.` },
    });
    expect((await ask({ names: ["a.example.org"] })).status).toBe(202);
    await organization.admin("POST", `${PATH}/${id}/cancel`);
    expect((await ask({ names })).status).toBe(202);
  });

  test("409 for all but one of many at once", async () => {
    const { ask } = await newSetting();
    const names = [newName()];
    const answers = await Promise.all(Array.from({ length: 10 }, () => ask({ names })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([202, ...Array(9).fill(409)]);
  });

  test("202 with where it is, its first step and an audit event", async () => {
    const { organization, issuer, ask } = await newSetting();
    const answer = await ask({ names: ["Bücher.example", "192.0.2.1"], renewAt: "2040-01-01T00:00:00+01:00", profile: "server" });
    expect(answer).toMatchObject({
      status: 202,
      body: {
        organizationId: organization.id,
        issuerId: issuer.id,
        names: ["xn--bcher-kva.example", "192.0.2.1"],
        key: { location: "server", algorithm: "ecdsa-p256" },
        profile: "server",
        autoRenew: true,
        renewAt: "2039-12-31T23:00:00.000Z",
        status: "pending",
        approval: "none",
        reason: null,
        certificateId: null,
        deployment: null,
        endedAt: null,
        createdBy: { type: "gateway", role: "ORG_ADMIN" },
      },
    });
    const path = `${PATH}/${answer.body.id}`;
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}${path}`);
    const { body } = await organization.member("GET", path);
    expect(body).toEqual({ ...answer.body, steps: [{ status: "pending", reason: null, at: expect.any(String) }] });
    const { body: trail } = await organization.admin("GET", "/audit-events?action=certificate-request.created");
    expect(trail.items).toMatchObject([{ targetId: answer.body.id, details: { issuerId: issuer.id, names: expect.any(Array), keyLocation: "server" } }]);
  });

  test("202 with a key on a host waits for it", async () => {
    const { organization, order, get } = await newSetting();
    const agent = await newAgent(organization);
    const { id } = await order({ key: { location: "agent" }, deployment: deployment(agent.id) });
    expect(await get(id)).toMatchObject({
      status: "pending",
      reason: "It waits for the agent's key.",
      deployment: { agentId: agent.id, applicationId: "shop", trustStoreType: "nginx_tls", materialType: "server_certificate" },
    });
    const [row] = await world.sql`select due_at from certificate_requests where id = ${id}`;
    expect(row).toEqual({ due_at: null });
  });

  test("202 for the same names on two hosts, which have a key each; 409 for the same host", async () => {
    const { organization, ask } = await newSetting();
    const [one, other] = [await newAgent(organization), await newAgent(organization)];
    const names = [newName()];
    const at = (agent: { id: string }) => ask({ names, key: { location: "agent" }, deployment: deployment(agent.id) });
    expect((await at(one)).status).toBe(202);
    expect((await at(other)).status).toBe(202);
    expect((await at(one)).status).toBe(409);
  });
});

describe("GET /organizations/{organizationId}/certificate-requests", () => {
  test("200 newest first, page by page, by status, issuer and name", async () => {
    const { organization, issuer, order } = await newSetting();
    const first = await order({ names: ["a.example.org", "b.example.org"] });
    const second = await order({ names: ["b.example.org", "192.0.2.1"] });
    await organization.admin("POST", `${PATH}/${second.id}/cancel`);
    const list = async (query = "") => (await organization.member("GET", `${PATH}?${query}`)).body;
    const ids = async (query: string) => (await list(query)).items.map(({ id }: { id: string }) => id);
    const page = await list("limit=1");
    expect(page.items.map(({ id }: { id: string }) => id)).toEqual([second.id]);
    expect(await ids(`cursor=${page.nextCursor}`)).toEqual([first.id]);
    expect(await ids("status=pending")).toEqual([first.id]);
    expect(await ids("status=cancelled")).toEqual([second.id]);
    expect(await ids("status=issued")).toEqual([]);
    expect(await ids(`issuerId=${issuer.id}&name=B.example.org`)).toEqual([second.id, first.id]);
    expect(await ids("name=a.example.org")).toEqual([first.id]);
    expect(await ids("name=192.0.2.1")).toEqual([second.id]);
    expect(await ids("name=example.org")).toEqual([]);
    expect(await ids(`issuerId=${crypto.randomUUID()}`)).toEqual([]);
    expect((await organization.member("GET", `${PATH}?name=a_b`)).body.message).toBe("query.name must be a DNS name or an IP address.");
    expect((await (await newOrganization()).member("GET", PATH)).body.items).toEqual([]);
  });

  test("404 for another organization's", async () => {
    const [{ order }, other] = [await newSetting(), await newOrganization()];
    expect((await other.member("GET", `${PATH}/${(await order()).id}`)).status).toBe(404);
  });
});
