import { describe, expect, test } from "bun:test";
import { findDesiredState } from "#modules/fleet/agent-protocol/services/desired-state";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { importRoot, importWithKey, newAgent } from "../../../support/server/agents";
import { call } from "../../../support/server/call";
import { newUser } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { newPoller, PATH, SERVER } from "./pollers";

describe("GET /agent/assignments", () => {
  test("401 for whatever is no agent's token", async () => {
    const { agent } = await newPoller();
    const { token } = await newUser();
    for (const wrong of [undefined, token, `${agent.token}x`, agent.token.slice(0, -1), agent.token.toUpperCase(), "cag_", "x"])
      expect(await call("GET", PATH, { token: wrong })).toMatchObject({ status: 401, body: "" });
    expect(await call("GET", PATH, { headers: { authorization: `Basic ${agent.token}` } })).toMatchObject({ status: 401, body: "" });
  });

  test("200 and nothing to do for a new agent, which is noted as seen", async () => {
    const { organization, agent, ask } = await newPoller();
    const before = Date.now();
    expect(await ask()).toMatchObject({ status: 200, body: { items: [], keep: [] } });
    const { lastSeenAt, version } = (await organization.member("GET", agent.path)).body;
    expect(Date.parse(lastSeenAt)).toBeWithin(before, Date.now() + 1);
    expect(version).toBe(1);
  });

  test("200 with everything that it takes to install: PEM, issuers up to the root, config", async () => {
    const { organization, agent, assign, ask } = await newPoller();
    const { root, intermediate, leaf } = chain();
    const [rootId = "", , leafId = ""] = await importInto(organization, root.pem, intermediate.pem, leaf.pem);
    const server = await assign(leafId, SERVER);
    const anchor = await assign(rootId);
    const stored = (await organization.member("GET", `/certificates/${leafId}`)).body;
    const answer = await ask();
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.body.items).toEqual([
      {
        id: server.id,
        version: 1,
        applicationId: "payments",
        ...SERVER,
        config: server.config,
        includePrivateKey: false,
        keyOnHost: false,
        autoRenew: true,
        certificateId: leafId,
        commonName: stored.commonName,
        fingerprintSha256: stored.fingerprintSha256,
        notAfter: stored.notAfter,
        pem: leaf.pem,
        chain: [intermediate.pem, root.pem],
        privateKeyPem: null,
      },
      expect.objectContaining({ id: anchor.id, pem: root.pem, chain: [], trustStoreType: "linux_update_ca_certificates" }),
    ]);
    expect((await newAgent(organization).then((other) => other.call("GET", PATH))).body.items).toEqual([]);
    expect(agent.token).not.toBe("");
  });

  test("200 opens a private key only for an enabled assignment that includes it", async () => {
    const { organization, assign, update, ask } = await newPoller();
    const { id, privateKeyPem } = await importWithKey(organization);
    const { id: without } = await assign(id, SERVER);
    const { id: including } = await assign(id, { ...SERVER, config: { trustStorePath: "/etc/other" }, includePrivateKey: true });
    const keys = async () =>
      Object.fromEntries((await ask()).body.items.map((each: { id: string; privateKeyPem: string | null }) => [each.id, each.privateKeyPem]));
    expect(await keys()).toEqual({ [without]: null, [including]: privateKeyPem });
    await update(including, { includePrivateKey: false });
    expect(await keys()).toEqual({ [without]: null, [including]: null });
    await update(including, { includePrivateKey: true, enabled: false });
    expect(await keys()).toEqual({ [without]: null });
  });

  test("200 with a private key is an audit event each time; HEAD, 304 and 200 without one are none", async () => {
    const { organization, agent, assign, update, ask } = await newPoller();
    const { id } = await importWithKey(organization);
    const assignment = await assign(id, { ...SERVER, includePrivateKey: true });
    const released = async () => {
      const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
      return items.filter((each: { action: string }) => each.action === "certificate.private-key-released");
    };
    const answer = await ask();
    const event = {
      actor: { type: "agent", id: agent.id },
      targetType: "certificate",
      targetId: id,
      requestId: answer.headers.get("x-request-id"),
      details: { agentId: agent.id, assignmentId: assignment.id },
    };
    expect(await released()).toMatchObject([event]);
    const head = await agent.call("HEAD", PATH);
    expect([head.status, head.text, head.headers.get("etag")]).toEqual([200, "", answer.headers.get("etag")]);
    expect((await agent.call("GET", PATH, { headers: { "if-none-match": answer.headers.get("etag") ?? "" } })).status).toBe(304);
    expect(await released()).toHaveLength(1);
    await ask();
    expect(await released()).toHaveLength(2);
    await update(assignment.id, { includePrivateKey: false });
    await ask();
    expect(await released()).toHaveLength(2);
  });

  test("200 without what is disabled, deleted, revoked or retired", async () => {
    const { organization, agent, assign, update, ask } = await newPoller();
    const ids = [];
    for (let count = 0; count < 5; count++) ids.push(await importRoot(organization));
    const [kept = "", disabled = "", deleted = "", revoked = "", retired = ""] = ids;
    const { id } = await assign(kept);
    await update((await assign(disabled)).id, { enabled: false });
    await organization.admin("DELETE", `${agent.assignments}/${(await assign(deleted)).id}`);
    await assign(revoked);
    await assign(retired);
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    await organization.admin("DELETE", `/certificates/${retired}`);
    const { body } = await ask();
    expect([body.items.map((each: { id: string }) => each.id), body.keep]).toEqual([[id], []]);
  });

  test("200 names what stays although its certificate was revoked", async () => {
    const { organization, assign, ask } = await newPoller();
    const certificateId = await importRoot(organization);
    await assign(certificateId, { config: { alias: "a", removeOnRevoke: true } });
    await assign(certificateId, { config: { alias: "b" } });
    const { id } = await assign(certificateId, { config: { alias: "c", removeOnRevoke: false } });
    expect((await ask()).body.keep).toEqual([]);
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: {} });
    expect((await ask()).body).toEqual({ items: [], keep: [id], remove: [], keys: [], challenges: [] });
  });

  test("200 still names an expired certificate: expiry takes nothing away", async () => {
    const { organization, assign, ask } = await newPoller();
    const [expired = ""] = await importInto(organization, certificate({ days: -1, from: -5 }).pem);
    const { id } = await assign(expired);
    expect((await ask()).body.items).toMatchObject([{ id }]);
  });

  test("401 rather than an empty state, which would take everything out, for an agent that is deleted meanwhile", async () => {
    const { organization, agent } = await newPoller();
    const ofAgent = { organizationId: organization.id, id: agent.id, publicKey: null, credentialId: null, nonce: undefined };
    const read = () => findDesiredState(world.sql, { keyring: world.config.keyring, stamps: world.deps.stamps }, ofAgent, null, true);
    expect(await read()).toMatchObject({ json: '{"items":[],"keep":[],"remove":[],"keys":[],"challenges":[]}' });
    await organization.admin("DELETE", agent.path);
    expect(await read()).toBeUndefined();
    expect((await agent.call("GET", PATH)).status).toBe(401);
  });

  test("500 rather than a wrong key when the sealed key was damaged", async () => {
    const { organization, assign, ask } = await newPoller();
    const { id } = await importWithKey(organization);
    await assign(id, { ...SERVER, includePrivateKey: true });
    await world.sql`update certificates set sealed_private_key = set_byte(sealed_private_key, 20, (get_byte(sealed_private_key, 20) + 1) % 256) where id = ${id}`;
    const answer = await ask();
    expect([answer.status, answer.text.includes("PRIVATE")]).toEqual([500, false]);
  });
});
