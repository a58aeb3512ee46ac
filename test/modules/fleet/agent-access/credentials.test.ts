import { describe, expect, test } from "bun:test";
import { until } from "../../../support/agent/observing";
import { newAgent } from "../../../support/server/agents";
import { call } from "../../../support/server/call";
import { newHost, newJoinedHost } from "../../../support/server/hosts";
import { newOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

const STATE = "/agent/assignments";
const HOUR_MS = 3_600_000;

describe("a credential of a day", () => {
  test("is worth nothing without the agent's key: 401, named in the trail by the agent's name, and shown by its list", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    expect((await host.ask("GET", STATE)).status).toBe(200);
    const thief = newHost();
    expect(await call("GET", STATE, { token: host.credential })).toMatchObject({ status: 401, text: "" });
    expect((await thief.call("GET", STATE, { token: host.credential })).status).toBe(401);
    expect((await thief.call("POST", "/agent/reports", { token: host.credential, body: { reports: [] } })).status).toBe(401);
    await world.deps.denials.flush();
    const { items } = (await organization.admin("GET", `/audit-events?action=agent.credential-misused&targetId=${host.id}`)).body;
    expect(items.map((each: { details: object }) => each.details)).toEqual([
      expect.objectContaining({ reason: "the request is signed with another key", peer: "127.0.0.1", count: 2 }),
      expect.objectContaining({ reason: "there is no signature by the agent's key", peer: "127.0.0.1", count: 1 }),
    ]);
    await until(async () => {
      const [agent] = (await organization.member("GET", "/agents")).body.items;
      expect(agent).toMatchObject({ id: host.id, credentialMisusedAt: expect.any(String) });
    });
    expect((await host.ask("GET", STATE)).status).toBe(200);
  });

  test("binds method, path, body and credential; the name of the server and what stands between count for nothing", async () => {
    const organization = await newOrganization();
    const [host, other] = [await newJoinedHost(organization), await newJoinedHost(organization)];
    const raw = JSON.stringify({ reports: [] });
    const signed = (over: object = {}) => host.sign({ method: "POST", path: "/agent/reports", token: host.credential, raw, ...over });
    const send = (headers: Record<string, string>, path = "/agent/reports") =>
      call("POST", path, { raw, headers: { "content-type": "application/json", ...headers } });
    expect((await send({ ...signed(), host: "outer.example", "x-forwarded-prefix": "/certitude", via: "1.1 proxy" })).status).toBe(204);
    for (const over of [{ method: "GET" }, { path: STATE }, { path: "/agent/reports?x=1" }, { raw: raw.replace("[]", "[ ]") }, { token: other.credential }])
      expect((await send({ ...signed(over), authorization: `Bearer ${host.credential}` })).status).toBe(401);
  });

  test("401 for a request that is played back, here and on another server", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    const another = startServer(world.config, world.database);
    const nonce = Bun.randomUUIDv7();
    const ask = (more: object) => host.ask("GET", STATE, { nonce, ...more });
    expect((await ask({})).status).toBe(200);
    expect((await ask({})).status).toBe(401);
    expect((await ask({ url: another.url })).status).toBe(401);
    expect((await host.ask("GET", STATE, { url: another.url })).status).toBe(200);
    expect((await host.ask("GET", STATE, { nonce: Bun.randomUUIDv7().replace(/^(.{14})7/, "$14") })).status).toBe(401);
    await another.server.stop(true);
  });

  test("401 for a clock that is off by more than a minute; the answer's Date says by how much", async () => {
    const host = await newJoinedHost(await newOrganization());
    const SIX_YEARS_MS = 6 * 365 * 24 * HOUR_MS;
    for (const offset of [SIX_YEARS_MS, -SIX_YEARS_MS, 90_000, -90_000]) {
      const answer = await host.ask("GET", STATE, { at: new Date(Date.now() + offset) });
      expect(answer.status).toBe(401);
      expect(Math.abs(Date.parse(answer.headers.get("date") ?? "") - Date.now())).toBeLessThan(60_000);
    }
    expect((await host.ask("GET", STATE, { at: new Date(Date.now() + 20_000) })).status).toBe(200);
  });

  test("ends after a day, by the server's clock", async () => {
    const host = await newJoinedHost(await newOrganization());
    let now = new Date();
    const clocked = startServer(world.config, world.database, () => now);
    const ask = () => host.ask("GET", STATE, { url: clocked.url, at: now });
    now = new Date(Date.now() + 23 * HOUR_MS);
    expect((await ask()).status).toBe(200);
    now = new Date(Date.now() + 25 * HOUR_MS);
    expect((await ask()).status).toBe(401);
    await clocked.server.stop(true);
  });
});

describe("POST /agent/credentials", () => {
  test("201 by the key alone, long after the last credential ended, with an audit event", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    const now = new Date(Date.now() + 90 * 24 * HOUR_MS);
    const clocked = startServer(world.config, world.database, () => now);
    const renewed = await host.call("POST", "/agent/credentials", { url: clocked.url, at: now });
    expect(renewed).toMatchObject({ status: 201, body: { agentId: host.id, organizationId: organization.id, signingKey: host.signingKey } });
    expect(Date.parse(renewed.body.expiresAt) - now.getTime()).toBe(24 * HOUR_MS);
    expect((await host.call("GET", STATE, { token: renewed.body.credential, url: clocked.url, at: now })).status).toBe(200);
    const { items } = (await organization.admin("GET", "/audit-events?action=agent.credential-renewed")).body;
    expect(items).toMatchObject([{ targetId: host.id, actor: { type: "agent", id: host.id } }]);
    await clocked.server.stop(true);
  });

  test("201 for two processes at once: both credentials are good, and so is the one before; the oldest give way to a ninth", async () => {
    const host = await newJoinedHost(await newOrganization());
    const renew = async () => (await host.call("POST", "/agent/credentials")).body.credential;
    const isGood = async (token: string) => (await host.call("GET", STATE, { token })).status === 200;
    const both = await Promise.all([renew(), renew()]);
    const got = both.filter((each) => each !== undefined);
    expect(got.length).toBeGreaterThan(0); // one of the two may come with the older nonce
    for (const each of [host.credential, ...got]) expect(await isGood(each)).toBe(true);
    const last = [];
    for (let count = 0; count < 9; count++) last.push(await renew());
    expect(await isGood(host.credential)).toBe(false);
    for (const each of last) expect(await isGood(each)).toBe(true);
  });

  test("401 for a key of no agent, of a deleted one, and for a request that is played back", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    expect((await newHost().call("POST", "/agent/credentials")).status).toBe(401);
    expect((await call("POST", "/agent/credentials")).status).toBe(401);
    const nonce = Bun.randomUUIDv7();
    expect((await host.call("POST", "/agent/credentials", { nonce })).status).toBe(201);
    expect((await host.call("POST", "/agent/credentials", { nonce })).status).toBe(401);
    await organization.admin("DELETE", host.path);
    expect((await host.call("POST", "/agent/credentials")).status).toBe(401);
    expect((await host.ask("GET", STATE)).status).toBe(401);
  });
});

describe("POST /organizations/{organizationId}/agents/{agentId}/credentials", () => {
  const replace = (organization: Awaited<ReturnType<typeof newOrganization>>, path: string, body: object = {}) =>
    organization.admin("POST", `${path}/credentials`, { body });

  test("400 for an overlap of more than a day, 403 for an ORG_MEMBER", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    expect((await replace(organization, agent.path, { overlapSeconds: 86_401 })).status).toBe(400);
    expect((await replace(organization, agent.path, { overlapSeconds: -1 })).status).toBe(400);
    expect((await organization.member("POST", `${agent.path}/credentials`, { body: {} })).status).toBe(403);
  });

  test("201 with a join token for this agent; the long-lived token goes on until the host has joined with it", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const { status, body: made } = await replace(organization, agent.path);
    expect([status, made.agentId, made.maxUses]).toEqual([201, agent.id, 1]);
    expect((await agent.call("GET", STATE)).status).toBe(200);
    expect((await organization.member("GET", agent.path)).body).toMatchObject({ access: "long-lived", accessEndsAt: expect.any(String), version: 2 });
    const host = newHost();
    const joined = await host.call("POST", "/agent/join", { token: made.token, body: { name: "other" } });
    expect(joined).toMatchObject({ status: 201, body: { agentId: agent.id, name: "web-01" } });
    expect((await agent.call("GET", STATE)).status).toBe(401);
    expect((await host.call("GET", STATE, { token: joined.body.credential })).status).toBe(200);
    expect((await organization.member("GET", agent.path)).body).toMatchObject({ access: "key", accessEndsAt: null });
    expect(await newHost().call("POST", "/agent/join", { token: made.token, body: { name: "x" } })).toMatchObject({ status: 403 });
    const actions = (await organization.admin("GET", `/audit-events?targetId=${agent.id}`)).body.items.map((each: { action: string }) => each.action);
    expect(actions).toEqual(["agent.credentials-replaced", "agent.credentials-ended", "agent.created"]);
  });

  test("201 without an overlap ends token, key and credentials at once; asked again, the token before is good no more", async () => {
    const organization = await newOrganization();
    const [host, agent] = [await newJoinedHost(organization), await newAgent(organization)];
    const first = (await replace(organization, host.path, { overlapSeconds: 0 })).body.token;
    await replace(organization, agent.path, { overlapSeconds: 0 });
    expect((await host.ask("GET", STATE)).status).toBe(401);
    expect((await host.call("POST", "/agent/credentials")).status).toBe(401);
    expect((await agent.call("GET", STATE)).status).toBe(401);
    expect((await newHost().call("POST", "/agent/join", { token: agent.token, body: { name: "x" } })).status).toBe(401);
    expect((await organization.member("GET", host.path)).body.access).toBe("none");
    const second = (await replace(organization, host.path)).body.token;
    expect((await newHost().call("POST", "/agent/join", { token: first, body: { name: "x" } })).status).toBe(401);
    expect((await organization.member("GET", host.path)).body.access).toBe("none"); // what has ended does not begin again
    const next = newHost();
    const joined = await next.call("POST", "/agent/join", { token: second, body: { name: "x" } });
    expect((await next.call("GET", STATE, { token: joined.body.credential })).status).toBe(200);
  });

  test("what is renewed in the overlap ends with it", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    const now = Date.now();
    await replace(organization, host.path, { overlapSeconds: 3_600 });
    const renewed = await host.call("POST", "/agent/credentials");
    expect(Date.parse(renewed.body.expiresAt)).toBeLessThanOrEqual(now + HOUR_MS + 60_000);
    expect((await host.call("GET", STATE, { token: renewed.body.credential })).status).toBe(200);
  });
});
