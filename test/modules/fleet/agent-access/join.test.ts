import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, sign } from "node:crypto";
import { newAgent } from "../../../support/server/agents";
import { call } from "../../../support/server/call";
import { newHost, newJoinedHost, newJoinToken } from "../../../support/server/hosts";
import { newOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

const JOIN = "/agent/join";
const body = { name: "web-01" };

describe("POST /agent/join", () => {
  test("201 for a host that makes its key, signs by RFC 9421 and has a join token: an agent with the token's labels, and an audit event", async () => {
    const organization = await newOrganization();
    const { id: joinTokenId, token } = await newJoinToken(organization, { labels: { env: "prod" } });
    // Written by hand after the RFC, so that agents in other languages can do the same.
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const raw = JSON.stringify({ ...body, host: { hostname: "web-01", platform: "linux" } });
    const digest = `sha-256=:${new Bun.CryptoHasher("sha256").update(raw).digest("base64")}:`;
    const nonce = Bun.randomUUIDv7();
    const names = '("@method" "certitude-path" "certitude-nonce" "authorization" "content-digest")';
    const parameters = `${names};created=${Math.floor(Date.now() / 1_000)};keyid="${publicKey.export({ format: "jwk" }).x}";alg="ed25519"`;
    const base = [
      '"@method": POST',
      `"certitude-path": ${JOIN}`,
      `"certitude-nonce": ${nonce}`,
      `"authorization": Bearer ${token}`,
      `"content-digest": ${digest}`,
      `"@signature-params": ${parameters}`,
    ].join("\n");
    const headers = {
      "content-type": "application/json",
      "certitude-path": JOIN,
      "certitude-nonce": nonce,
      "content-digest": digest,
      "signature-input": `certitude=${parameters}`,
      signature: `certitude=:${sign(null, Buffer.from(base), privateKey).toString("base64")}:`,
    };
    const answer = await call("POST", JOIN, { token, raw, headers });
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 201,
      body: {
        organizationId: organization.id,
        agentId: expect.any(String),
        name: "web-01",
        credential: expect.stringMatching(/^cac_[\w-]{43}$/),
        expiresAt: expect.any(String),
        signingKey: expect.stringMatching(/^[\w-]{43}$/),
      },
    });
    expect(answer.headers.get("cache-control")).toBe("no-store");
    const { agentId } = answer.body;
    expect((await organization.member("GET", `/agents/${agentId}`)).body).toMatchObject({
      name: "web-01",
      labels: { env: "prod" },
      host: { hostname: "web-01", platform: "linux" },
      access: "key",
    });
    const trail = await organization.admin("GET", "/audit-events?action=agent.joined");
    expect(trail.body.items).toMatchObject([{ targetId: agentId, actor: { type: "join-token", id: joinTokenId }, details: { name: "web-01", joinTokenId } }]);
    expect((await organization.admin("GET", `/join-tokens/${joinTokenId}`)).body.uses).toBe(1);
  });

  test("50 hosts that race for a token of three uses: exactly three join, the others get the reason", async () => {
    const organization = await newOrganization();
    const { id, token } = await newJoinToken(organization, { maxUses: 3 });
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => newHost().call("POST", JOIN, { token, body: { name: `web-${n}` } })));
    const joined = answers.filter((each) => each.status === 201);
    expect(joined).toHaveLength(3);
    for (const { status, body } of answers.filter((each) => each.status !== 201))
      expect({ status, body }).toEqual({ status: 403, body: { message: "This join token was used 3 times, as often as it may be. Ask for another." } });
    const agents = (await organization.member("GET", "/agents")).body.items.map((each: { id: string }) => each.id);
    expect(agents.toSorted()).toEqual(joined.map((each) => each.body.agentId).toSorted());
    expect((await organization.admin("GET", `/join-tokens/${id}`)).body).toMatchObject({ uses: 3, maxUses: 3 });
    expect(new Set(joined.map((each) => each.body.signingKey)).size).toBe(1);
  });

  test("403 in words for a token that has ended, and an audit event of its organization", async () => {
    const organization = await newOrganization();
    const { id, token } = await newJoinToken(organization, { expiresAt: new Date(Date.now() + 3_600_000).toISOString() });
    const later = new Date(Date.now() + 3_700_000);
    const clocked = startServer(world.config, world.database, () => later);
    const answer = await newHost().call("POST", JOIN, { token, body, url: clocked.url, at: later });
    expect([answer.status, answer.body.message]).toEqual([403, expect.stringMatching(/^This join token ended at .*Z\. Ask for another\.$/)]);
    await clocked.deps.denials.flush();
    const { items } = (await organization.admin("GET", "/audit-events?action=access.denied")).body;
    expect(items).toMatchObject([{ targetId: "POST /agent/join", details: { status: 403 } }]);
    expect((await organization.admin("GET", `/join-tokens/${id}`)).body.uses).toBe(0);
    await clocked.server.stop(true);
  });

  test("401 for a token that is none, was deleted, or is of another kind", async () => {
    const organization = await newOrganization();
    const { id, token } = await newJoinToken(organization);
    await organization.admin("DELETE", `/join-tokens/${id}`);
    const { credential } = await newJoinedHost(organization);
    for (const shown of [undefined, token, `${token.slice(0, -2)}xx`, credential, "cat_x"])
      expect(await newHost().call("POST", JOIN, { token: shown, body })).toMatchObject({ status: 401, text: "" });
  });

  test("401 without a signature of the host's own key over this very request; the token keeps its use", async () => {
    const organization = await newOrganization();
    const { id, token } = await newJoinToken(organization);
    const host = newHost();
    const raw = JSON.stringify(body);
    const good = host.sign({ method: "POST", path: JOIN, token, raw });
    const wrong: Record<string, string>[] = [
      { authorization: `Bearer ${token}` },
      { ...good, "certitude-nonce": Bun.randomUUIDv7() },
      { ...good, signature: newHost().sign({ method: "POST", path: JOIN, token, raw }).signature ?? "" },
      host.sign({ method: "POST", path: "/agent/credentials", token, raw }),
      host.sign({ method: "PUT", path: JOIN, token, raw }),
      host.sign({ method: "POST", path: JOIN, token, raw: raw.replace("web-01", "web-02") }),
      { ...host.sign({ method: "POST", path: JOIN, token: `caj_${"x".repeat(43)}`, raw }), authorization: `Bearer ${token}` },
    ];
    for (const headers of wrong)
      expect(await call("POST", JOIN, { raw, headers: { "content-type": "application/json", ...headers } })).toMatchObject({ status: 401 });
    expect((await organization.admin("GET", `/join-tokens/${id}`)).body.uses).toBe(0);
  });

  test.each([
    ["another length", Buffer.alloc(30, 1).toString("base64url").padEnd(43, "_")],
    ["a point of small order, with which every signature holds", Buffer.from([1, ...new Array(31).fill(0)]).toString("base64url")],
    ["the same with its sign", Buffer.from([1, ...new Array(30).fill(0), 0x80]).toString("base64url")],
  ])("400 for a key that is none: %s", async (_, keyId) => {
    const { token } = await newJoinToken(await newOrganization());
    const raw = JSON.stringify(body);
    const signed = newHost().sign({ method: "POST", path: JOIN, token, raw });
    const headers = { ...signed, "signature-input": String(signed["signature-input"]).replace(/keyid="[^"]*"/, `keyid="${keyId}"`) };
    const answer = await call("POST", JOIN, { raw, headers: { "content-type": "application/json", ...headers } });
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining("must be an Ed25519 public key") } });
  });

  test("400 for the key of another agent, in whatever organization; the token keeps its use", async () => {
    const host = await newJoinedHost(await newOrganization());
    const organization = await newOrganization();
    const { id, token } = await newJoinToken(organization);
    const answer = await host.call("POST", JOIN, { token, body });
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining("An agent has this key already.") } });
    expect((await organization.admin("GET", `/join-tokens/${id}`)).body.uses).toBe(0);
    expect((await organization.member("GET", "/agents")).body.items).toEqual([]);
  });

  test("201 twice for two hosts of one name: names are for people, ids distinguish agents; a host that is renamed keeps its agent's", async () => {
    const organization = await newOrganization();
    const [one, other] = [await newJoinedHost(organization), await newJoinedHost(organization)];
    expect(one.id).not.toBe(other.id);
    const { status } = await one.ask("POST", "/agent/reports", { body: { reports: [], host: { hostname: "db-07" } } });
    expect(status).toBe(204);
    expect((await organization.member("GET", one.path)).body).toMatchObject({ name: "web-01", host: { hostname: "db-07" } });
  });

  test("201 with an agent's long-lived token: the same agent changes over to the key, and the token ends", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization, { name: "old", labels: { env: "prod" } });
    const host = newHost();
    const joined = await host.call("POST", JOIN, { token: agent.token, body });
    expect(joined).toMatchObject({ status: 201, body: { agentId: agent.id, name: "old" } });
    expect((await agent.call("GET", "/agent/assignments")).status).toBe(401);
    expect((await host.call("GET", "/agent/assignments", { token: joined.body.credential })).status).toBe(200);
    expect((await organization.member("GET", agent.path)).body).toMatchObject({ name: "old", labels: { env: "prod" }, access: "key" });
    const { items } = (await organization.admin("GET", "/audit-events?action=agent.credentials-replaced")).body;
    expect(items).toMatchObject([{ targetId: agent.id, actor: { type: "agent", id: agent.id } }]);
  });
});
