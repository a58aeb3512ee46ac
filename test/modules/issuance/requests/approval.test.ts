import { describe, expect, test } from "bun:test";
import { createPrivateKey } from "node:crypto";
import { keepCsr } from "#modules/issuance/requests/queries/csr";
import { newCsr } from "../../../support/pki/csr";
import { newAgent } from "../../../support/server/agents";
import { newApiToken } from "../../../support/server/api-tokens";
import { call } from "../../../support/server/call";
import { dispatch } from "../../../support/server/dispatching";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { newSetting, PATH, withApprovals, work } from "./requests";

const POLICY = "/issuance-policy";

describe("POST …/certificate-requests/{requestId}/approve", () => {
  test("403 for the author, for headers alone and for API tokens; 200 for another admin, and it begins; then 409", async () => {
    const { organization, other, asAuthor, asOther, body, get } = await withApprovals();
    const { id } = (await asAuthor("POST", PATH, body())).body;
    const path = `${PATH}/${id}/approve`;
    expect(await get(id)).toMatchObject({ approval: "awaited", reason: "It waits for the approval of another admin." });
    await work();
    expect((await get(id)).status).toBe("pending");
    expect(await asAuthor("POST", path)).toMatchObject({
      status: 403,
      body: { message: "Another admin than the author of the certificate request decides on it." },
    });
    expect((await organization.admin("POST", path)).body.message).toBe(
      "An approval needs the token of a user: this caller is known by headers or by an API token alone.",
    );
    expect((await asOther("POST", `${PATH}/${crypto.randomUUID()}/approve`)).status).toBe(404);
    expect(await asOther("POST", path)).toMatchObject({
      status: 200,
      body: { approval: "given", approvedBy: { type: "user", id: other.id }, status: "pending", reason: null },
    });
    expect(await asOther("POST", path)).toMatchObject({ status: 409, body: { message: "The certificate request waits for no approval." } });
    await work();
    expect(await get(id)).toMatchObject({ status: "issued", approval: "given" });
    expect((await get(id)).steps.map(({ reason }: { reason: string }) => reason)).toEqual([
      "It waits for the approval of another admin.",
      "It was approved.",
      "The server has made the key.",
      null,
    ]);
    const { body: trail } = await organization.admin("GET", "/audit-events?action=certificate-request.approved");
    expect(trail.items).toMatchObject([{ targetId: id, actor: { type: "user", id: other.id } }]);
  });

  test("403 for who made the API token that asked", async () => {
    const { asAuthor, asOther, as, body } = await withApprovals();
    const { token } = (await asAuthor("POST", "/api-tokens", { name: "ci", role: "ORG_ADMIN" })).body;
    const { id } = (await as(token)("POST", PATH, body())).body;
    expect((await as(token)("POST", `${PATH}/${id}/approve`)).status).toBe(403);
    expect((await asAuthor("POST", `${PATH}/${id}/approve`)).status).toBe(403);
    expect((await asOther("POST", `${PATH}/${id}/approve`)).status).toBe(200);
  });

  test("403 for the user behind a token that a token made, also when both are gone, and for one of an earlier release", async () => {
    const { organization, author, asAuthor, asOther, as, body } = await withApprovals();
    const makeBy = async (by: typeof asAuthor) => (await by("POST", "/api-tokens", { name: "ci", role: "ORG_ADMIN" })).body as { id: string; token: string };
    const first = await makeBy(asAuthor);
    const second = await makeBy(as(first.token));
    const third = await makeBy(as(second.token));
    const order = async () => (await as(third.token)("POST", PATH, body())).body;
    const [kept, orphaned, former] = [await order(), await order(), await order()];
    expect(kept.createdBy).toEqual({ type: "api-token", id: third.id, role: "ORG_ADMIN", userId: author.id });
    await world.sql`update api_tokens set created_by = created_by - 'userId' where organization_id = ${organization.id}`;
    await world.sql`update certificate_requests set created_by = created_by - 'userId' where id = ${former.id}`;
    expect((await asAuthor("POST", `${PATH}/${kept.id}/approve`)).status).toBe(403);
    expect((await asAuthor("POST", `${PATH}/${former.id}/approve`)).status).toBe(403);
    for (const { id } of [first, second, third]) await organization.admin("DELETE", `/api-tokens/${id}`);
    expect((await asAuthor("POST", `${PATH}/${orphaned.id}/approve`)).status).toBe(403);
    expect((await asOther("POST", `${PATH}/${orphaned.id}/approve`)).body.approval).toBe("given");
  });

  test("200 of two users, where none is known to have ordered it: headers alone name none", async () => {
    const { organization, author, other, asAuthor, asOther, body, get } = await withApprovals();
    const { id } = (await organization.admin("POST", PATH, { body: body() })).body;
    const path = `${PATH}/${id}/approve`;
    const reason = "One admin approved it. No user is known to have ordered it, so it waits for the approval of another admin.";
    expect(await asAuthor("POST", path)).toMatchObject({
      status: 200,
      body: { approval: "awaited", reason, createdBy: { type: "gateway", userId: author.id }, approvedBy: null },
    });
    expect((await asAuthor("POST", path)).status).toBe(403);
    await work();
    expect((await get(id)).status).toBe("pending");
    expect((await asOther("POST", path)).body).toMatchObject({ approval: "given", approvedBy: { id: other.id } });
    await work();
    expect((await get(id)).status).toBe("issued");
    const { items } = (await organization.admin("GET", "/audit-events?action=certificate-request.vouched")).body;
    expect(items).toMatchObject([{ targetId: id, actor: { type: "user", id: author.id } }]);
  });

  test("409 where the policy asked for no approval", async () => {
    const { organization, order } = await newSetting();
    const { id } = await order();
    const user = await organization.join();
    const answer = await call("POST", `/organizations/${organization.id}${PATH}/${id}/approve`, {
      token: user.token,
      headers: organization.headers("ORG_ADMIN"),
    });
    expect(answer.status).toBe(409);
  });

  test("200 for one of two at once, or one refuses", async () => {
    const { organization, asAuthor, asOther, as, body } = await withApprovals();
    const third = await organization.join();
    const { id } = (await asAuthor("POST", PATH, body())).body;
    const answers = await Promise.all([asOther("POST", `${PATH}/${id}/approve`), as(third.token)("POST", `${PATH}/${id}/refuse`, { reason: "No." })]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });
});

describe("POST …/certificate-requests/{requestId}/refuse", () => {
  test("403 for the author; 200 for another admin, and it has ended with the reason; 409 then", async () => {
    const { asAuthor, asOther, body, get } = await withApprovals();
    const { id } = (await asAuthor("POST", PATH, body())).body;
    const path = `${PATH}/${id}/refuse`;
    expect((await asAuthor("POST", path, { reason: "No." })).status).toBe(403);
    expect((await asOther("POST", path, {})).status).toBe(400);
    expect(await asOther("POST", path, { reason: "Not ours." })).toMatchObject({
      status: 200,
      body: { status: "cancelled", approval: "refused", reason: "Not ours." },
    });
    expect((await asOther("POST", path, { reason: "Not ours." })).status).toBe(409);
    await work();
    expect((await get(id)).status).toBe("cancelled");
  });
});

describe("a request that waits for an approval", () => {
  test("stands in the inbox of admins, until it is approved, refused or cancelled", async () => {
    const { organization, asAuthor, asOther, body } = await withApprovals();
    const admin = await organization.join("ORG_ADMIN");
    const ids: string[] = [];
    const order = async () => ids.push((await asAuthor("POST", PATH, body())).body.id);
    const states = async () => {
      await dispatch();
      const { items } = (await admin.call("GET", "/users/me/notifications/inbox?limit=100")).body;
      return items.filter(({ kind }: { kind: string }) => kind === "certificate_request_awaits_approval").map(({ state }: { state: string }) => state);
    };
    for (let turn = 0; turn < 3; turn++) {
      await order();
      await dispatch(); // each by itself
    }
    expect(await states()).toEqual(["open", "open", "open"]);
    await asOther("POST", `${PATH}/${ids[0]}/approve`);
    expect(await states()).toEqual(["open", "open", "cleared"]);
    await asOther("POST", `${PATH}/${ids[1]}/refuse`, { reason: "No." });
    await asAuthor("POST", `${PATH}/${ids[2]}/cancel`);
    expect(await states()).toEqual(["cleared", "cleared", "cleared"]);
    const { proposal } = (await asAuthor("PUT", POLICY, {})).body;
    await asOther("POST", `${POLICY}/proposals/${proposal.id}/approve`);
    await order();
    expect(await states()).toHaveLength(3);
  });
});

describe("PUT and GET /organizations/{organizationId}/issuance-policy", () => {
  const DEFAULT = { allowedDomains: null, allowedAddresses: null, allowedKeyAlgorithms: null, allowedKeyLocations: null, needsApproval: false };

  test("200 the default, which allows everything, at version 0", async () => {
    const organization = await newOrganization();
    expect((await organization.member("GET", POLICY)).body).toEqual({ organizationId: organization.id, ...DEFAULT, version: 0, updatedAt: null });
  });

  test("403 for an ORG_MEMBER; 400 for what is no domain; 412 for a stale version", async () => {
    const organization = await newOrganization();
    expect((await organization.member("PUT", POLICY, { body: {} })).status).toBe(403);
    expect((await organization.admin("PUT", POLICY, { body: { allowedDomains: ["a_b"] } })).body.message).toBe(
      "body.allowedDomains[0] must be a DNS name or an IP address.",
    );
    expect((await organization.admin("PUT", POLICY, { body: {}, headers: { "if-match": '"7"' } })).status).toBe(412);
  });

  test("200 takes the place of what was there; the same again keeps the version; with an audit event each", async () => {
    const organization = await newOrganization();
    const put = async (body: object) => (await organization.admin("PUT", POLICY, { body })).body;
    expect(await put({ allowedDomains: ["*.Bücher.example"] })).toMatchObject({ ...DEFAULT, allowedDomains: ["*.xn--bcher-kva.example"], version: 1 });
    expect(await put({ allowedDomains: ["*.xn--bcher-kva.example"] })).toMatchObject({ version: 1 });
    expect(await put({ allowedKeyLocations: ["agent"] })).toMatchObject({ ...DEFAULT, allowedKeyLocations: ["agent"], version: 2 });
    const { body: trail } = await organization.admin("GET", "/audit-events?action=issuance-policy.updated");
    expect(trail.items).toHaveLength(2);
    expect(trail.items[0].details).toMatchObject({
      from: { allowedDomains: ["*.xn--bcher-kva.example"] },
      to: { allowedDomains: null, allowedKeyLocations: ["agent"] },
    });
  });

  test("400 for an order that it does not allow, and none is made", async () => {
    const { organization, ask } = await newSetting();
    await organization.admin("PUT", POLICY, { body: { allowedDomains: ["*.certitude.example"], allowedAddresses: [] } });
    expect((await ask({ names: ["www.certitude.example"] })).status).toBe(202);
    expect((await ask({ names: ["www.certitude.example", "other.example"] })).body.message).toBe(
      "body.names has other.example, which the issuance policy of the organization does not allow.",
    );
    expect((await ask({ names: ["192.0.2.1"] })).status).toBe(400);
    expect((await organization.member("GET", PATH)).body.items).toHaveLength(1);
  });
});

describe("a CSR of an agent", () => {
  async function waiting(approve = false) {
    const setting = await withApprovals(approve);
    const agent = await newAgent(setting.organization);
    const deployment = { agentId: agent.id, applicationId: "shop", trustStoreType: "nginx_tls", config: { trustStorePath: "/etc/nginx/tls" } };
    const { id } = (await setting.asAuthor("POST", PATH, { ...setting.body(), names: ["www.example.org"], key: { location: "agent" }, deployment })).body;
    const scope = { ...setting.organization.scope, actor: { type: "agent" as const, id: agent.id } };
    const keep = (csrPem: string, agentId = agent.id) => world.sql.begin((tx) => keepCsr(tx, world.deps.stamps, scope, { agentId, requestId: id, csrPem }));
    return { ...setting, id, keep };
  }

  test("has its request begin, once", async () => {
    const { id, keep, get, certificateOf } = await waiting();
    const { csrPem, keyPem } = await newCsr();
    expect(await keep(csrPem, crypto.randomUUID())).toBe("not found");
    expect(await keep((await newCsr({ names: "DNS:other.example.org" })).csrPem)).toEqual({ invalid: "body.csrPem lacks the name www.example.org." });
    expect(await keep((await newCsr({ key: ["-algorithm", "ED25519"] })).csrPem)).toEqual({
      invalid: "body.csrPem has a key of ed25519, where ecdsa-p256 is asked for.",
    });
    expect(await keep(csrPem)).toBe("done");
    expect(await keep(csrPem)).toBe("done");
    expect(await keep((await newCsr()).csrPem)).toBe("conflict");
    expect(await get(id)).toMatchObject({ status: "pending", reason: null });
    await work();
    expect((await get(id)).status).toBe("issued");
    expect((await certificateOf(id)).x509.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
    expect(await keep(csrPem)).toBe("done");
  });

  test("is a conflict while an approval of its request is awaited, and once that has ended", async () => {
    const { organization, id, keep, asOther, get } = await waiting(true);
    const { csrPem } = await newCsr();
    expect(await keep(csrPem)).toBe("conflict");
    expect((await asOther("POST", `${PATH}/${id}/approve`)).body).toMatchObject({ approval: "given", reason: "It waits for the agent's key." });
    await organization.admin("POST", `${PATH}/${id}/cancel`);
    expect(await keep(csrPem)).toBe("conflict");
    expect((await get(id)).status).toBe("cancelled");
  });
});

test("an API token of another organization decides nothing", async () => {
  const { asAuthor, as, body } = await withApprovals();
  const { id } = (await asAuthor("POST", PATH, body())).body;
  const { token } = await newApiToken(await newOrganization());
  expect((await as(token)("POST", `${PATH}/${id}/approve`)).status).toBe(403);
});
