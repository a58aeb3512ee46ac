import { describe, expect, test } from "bun:test";
import type { Sql } from "../../../src/db/connect";
import { findDesiredState } from "../../../src/modules/deployments/queries";
import { anAssignment, importRoot, importWithKey, newAgent } from "../../support/agents";
import { call } from "../../support/call";
import { certificate, chain, importInto } from "../../support/certificates";
import { newOrganization, newUser } from "../../support/people";
import { statementsDuring } from "../../support/statements";
import { startServer, world } from "../../support/world";

const PATH = "/agent/assignments";
const SERVER = { trustStoreType: "nginx_tls", materialType: "server_certificate", config: { trustStorePath: "/etc/nginx/tls" } };

const withAgent = async () => {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const assign = async (certificateId: string, rest: object = {}) =>
    (await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, rest) })).body;
  const update = (id: string, body: object) => organization.admin("PATCH", `${agent.assignments}/${id}`, { body });
  const ask = (known?: string) => agent.call("GET", PATH, known === undefined ? {} : { headers: { "if-none-match": known } });
  const tag = async () => (await ask()).headers.get("etag") ?? "";
  return { organization, agent, assign, update, ask, tag };
};

describe("GET /agent/assignments", () => {
  test("401 for whatever is no agent's token", async () => {
    const { agent } = await withAgent();
    const { token } = await newUser();
    for (const wrong of [undefined, token, `${agent.token}x`, agent.token.slice(0, -1), agent.token.toUpperCase(), "cag_", "x"])
      expect(await call("GET", PATH, { token: wrong })).toMatchObject({ status: 401, body: "" });
    expect(await call("GET", PATH, { headers: { authorization: `Basic ${agent.token}` } })).toMatchObject({ status: 401, body: "" });
  });

  test("200 and nothing to do for a new agent, which is noted as seen", async () => {
    const { organization, agent, ask } = await withAgent();
    const before = Date.now();
    expect(await ask()).toMatchObject({ status: 200, body: { items: [], keep: [] } });
    const { lastSeenAt, version } = (await organization.member("GET", agent.path)).body;
    expect(Math.abs(Date.parse(lastSeenAt) - before)).toBeLessThan(5_000);
    expect(version).toBe(1);
  });

  test("200 or 304, and seen is noted every five minutes at most", async () => {
    const { organization, agent, tag } = await withAgent();
    const known = await tag();
    let now = new Date();
    const clocked = startServer(world.config, world.database, () => now);
    const seenAfter = async (minutes: number) => {
      now = new Date(now.getTime() + minutes * 60_000);
      expect((await agent.call("GET", PATH, { url: clocked.url, headers: { "if-none-match": known } })).status).toBe(304);
      return Date.parse((await organization.member("GET", agent.path)).body.lastSeenAt);
    };
    const first = await seenAfter(6);
    expect(first).toBe(now.getTime());
    expect(await seenAfter(4)).toBe(first);
    expect(await seenAfter(2)).toBe(now.getTime());
    await clocked.server.stop(true);
  });

  test("200 with everything that it takes to install: PEM, issuers up to the root, config", async () => {
    const { organization, agent, assign, ask } = await withAgent();
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
    const { organization, assign, update, ask } = await withAgent();
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

  test("200 without what is disabled, deleted, revoked or retired", async () => {
    const { organization, agent, assign, update, ask } = await withAgent();
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
    const { organization, assign, ask } = await withAgent();
    const certificateId = await importRoot(organization);
    await assign(certificateId, { config: { alias: "a", removeOnRevoke: true } });
    await assign(certificateId, { config: { alias: "b" } });
    const { id } = await assign(certificateId, { config: { alias: "c", removeOnRevoke: false } });
    expect((await ask()).body.keep).toEqual([]);
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: {} });
    expect((await ask()).body).toEqual({ items: [], keep: [id] });
  });

  test("200 still names an expired certificate: expiry takes nothing away", async () => {
    const { organization, assign, ask } = await withAgent();
    const [expired = ""] = await importInto(organization, certificate({ days: -1, from: -5 }).pem);
    const { id } = await assign(expired);
    expect((await ask()).body.items).toMatchObject([{ id }]);
  });

  test("304 while it is the same, also for a weak tag or among others", async () => {
    const { organization, assign, ask, tag } = await withAgent();
    const empty = await tag();
    await assign(await importRoot(organization));
    const full = await tag();
    expect(full).toMatch(/^"[0-9a-f]{64}"$/);
    expect(full).not.toBe(empty);
    for (const known of [full, `W/${full}`, `"x", ${full}`, "*"]) {
      const answer = await ask(known);
      expect([answer.status, answer.text, answer.headers.get("etag")]).toEqual([304, "", full]);
    }
    for (const other of [empty, '"x"', ""]) expect(await ask(other)).toMatchObject({ status: 200, body: { items: [{}] } });
  });

  test("200 at once while somebody is changing the agent; the next poll notes that it was seen", async () => {
    const { organization, agent, ask } = await withAgent();
    const isSeen = async () => (await organization.member("GET", agent.path)).body.lastSeenAt !== null;
    const canHold = Bun.env.TEST_DATABASE_URL !== undefined; // the embedded database is one session, where nobody else changes anything meanwhile
    const poll = async () => expect((await ask()).status).toBe(200);
    async function pollWhileHeld(tx: Sql) {
      await tx`select from agents where organization_id = ${organization.id} and id = ${agent.id} for update`;
      await poll();
    }
    await (canHold ? world.sql.begin(pollWhileHeld) : poll());
    expect(await isSeen()).toBe(!canHold);
    await poll();
    expect(await isSeen()).toBe(true);
  });

  test("304 costs one statement, 200 two", async () => {
    const { organization, assign, ask, tag } = await withAgent();
    const { root, intermediate, leaf } = chain();
    const [, , leafId = ""] = await importInto(organization, root.pem, intermediate.pem, leaf.pem);
    await assign(leafId, SERVER);
    const known = await tag();
    expect(await statementsDuring(() => ask(known))).toHaveLength(1);
    expect(await statementsDuring(() => ask())).toHaveLength(2);
  });

  test("200 with a new tag after every change that matters", async () => {
    const { organization, agent, assign, update, tag } = await withAgent();
    const { root, intermediate } = chain();
    const leaf = certificate({ issuer: intermediate });
    const [leafId = ""] = await importInto(organization, leaf.pem);
    const tags = [await tag()];
    const { id } = await assign(leafId, SERVER);
    tags.push(await tag());
    await update(id, { config: { alias: "x" } });
    tags.push(await tag());
    await importInto(organization, intermediate.pem);
    tags.push(await tag());
    await importInto(organization, root.pem);
    tags.push(await tag());
    const privateKeyPem = String(leaf.privateKey.export({ type: "pkcs8", format: "pem" }));
    await organization.admin("POST", "/certificates", { body: { pem: leaf.pem, privateKeyPem } });
    tags.push(await tag());
    await update(id, { enabled: false });
    expect(await tag()).toBe(tags[0] ?? "");
    await update(id, { enabled: true });
    tags.push(await tag());
    await organization.admin("POST", `/certificates/${leafId}/revoke`, { body: {} });
    tags.push(await tag());
    await update(id, { config: { removeOnRevoke: false } });
    tags.push(await tag());
    await organization.admin("DELETE", `/certificates/${leafId}`);
    tags.push(await tag());
    expect(new Set(tags).size).toBe(tags.length);
    await organization.admin("DELETE", `${agent.assignments}/${id}`);
    expect(await tag()).toBe(tags[0] ?? "");
  });

  test("401 rather than an empty state, which would take everything out, for an agent that is deleted meanwhile", async () => {
    const { organization, agent } = await withAgent();
    const ofAgent = { organizationId: organization.id, id: agent.id };
    expect(await findDesiredState(world.sql, world.config.secretsKey, ofAgent)).toMatchObject({ json: '{"items":[],"keep":[]}' });
    await organization.admin("DELETE", agent.path);
    expect(await findDesiredState(world.sql, world.config.secretsKey, ofAgent)).toBeUndefined();
    expect((await agent.call("GET", PATH)).status).toBe(401);
  });

  test("500 rather than a wrong key when the sealed key was damaged", async () => {
    const { organization, assign, ask } = await withAgent();
    const { id } = await importWithKey(organization);
    await assign(id, { ...SERVER, includePrivateKey: true });
    await world.sql`update certificates set sealed_private_key = set_byte(sealed_private_key, 20, (get_byte(sealed_private_key, 20) + 1) % 256) where id = ${id}`;
    const answer = await ask();
    expect([answer.status, answer.text.includes("PRIVATE")]).toEqual([500, false]);
  });
});
