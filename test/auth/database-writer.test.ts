import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { hashAgentToken, newAgentToken, newCredential, newJoinToken as newJoinText } from "#modules/fleet/agent-access/rules";
import { keyAuthorizationOf } from "#modules/issuance/acme/rules/challenges";
import { http01 } from "#modules/issuance/acme/services/solvers";
import { publish } from "#modules/issuance/pki/services/publish";
import { mustIssue, newHierarchy } from "../support/pki/issuing";
import { newOpenssl } from "../support/pki/openssl";
import { importWithKey, newAgent } from "../support/server/agents";
import { call } from "../support/server/call";
import { deliver, openChannel } from "../support/server/channels";
import { connect, privateWorld, tryOut } from "../support/server/connections";
import { newHost, newJoinedHost, newJoinToken } from "../support/server/hosts";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { startTarget } from "../support/server/target";
import { world } from "../support/server/world";

/** Who writes to the database, and has no SECRETS_KEY, table by table. What it may do to assignments, requests and admins stands where those are tested. */
setDefaultTimeout(300_000);
const { sql } = world;
const openssl = newOpenssl();
afterAll(openssl.remove);

const eventsOf = async (organization: TestOrganization, action: string) =>
  (await organization.admin("GET", `/audit-events?action=${action}`)).body.items.map(({ targetId }: { targetId: string }) => targetId);
const hash = (token: string) => Buffer.from(hashAgentToken(token), "hex");

/** Has the agent be given a certificate with its private key. */
async function withPrivateKey(organization: TestOrganization, { assignments }: { assignments: string }) {
  const { id, privateKeyPem } = await importWithKey(organization);
  const config = { trustStorePath: "/etc/nginx/tls", alias: "web" };
  const body = { applicationId: "web", certificateId: id, trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config };
  const { status, text } = await organization.admin("POST", assignments, { body });
  if (status !== 201) throw new Error(`the assignment was answered ${status}: ${text}`);
  return privateKeyPem;
}

describe("agents", () => {
  test("401: a token of one's own in the row of an agent gives no private key; it is logged once, until the row is as it was", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const privateKey = await withPrivateKey(organization, agent);
    expect((await agent.call("GET", "/agent/assignments")).text).toContain(JSON.stringify(privateKey).slice(1, 60));
    const own = newAgentToken();
    await sql`update agents set token_hash = ${hash(own)} where id = ${agent.id}`;
    for (let turn = 0; turn < 2; turn++) {
      const { status, text } = await call("GET", "/agent/assignments", { token: own });
      expect([status, text]).toEqual([401, ""]);
    }
    expect((await call("POST", "/agent/reports", { token: own, body: { reports: [] } })).status).toBe(401);
    expect(await eventsOf(organization, "agent.held")).toEqual([agent.id]);
    expect((await organization.admin("GET", agent.path)).body.heldSince).toEqual(expect.any(String));
    await sql`update agents set token_hash = ${hash(agent.token)} where id = ${agent.id}`;
    expect((await agent.call("GET", "/agent/assignments")).status).toBe(200);
    expect((await organization.admin("GET", agent.path)).body.heldSince).toBeNull();
  });

  test("401: a key of one's own in the row of an agent gets nothing by its credential, renews none, and changes over to none", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    await withPrivateKey(organization, host);
    const own = newHost();
    await sql`update agents set public_key = ${own.publicKey} where id = ${host.id}`;
    expect((await own.call("POST", "/agent/credentials")).status).toBe(401);
    const credential = newCredential();
    await sql`
      insert into agent_credentials (organization_id, agent_id, id, token_hash, expires_at)
      values (${organization.id}, ${host.id}, ${Bun.randomUUIDv7()}, ${hash(credential)}, now() + interval '1 day')`;
    expect((await own.call("GET", "/agent/assignments", { token: credential })).status).toBe(401);
    expect((await host.ask("GET", "/agent/assignments")).status).toBe(401);
    await sql`update agents set public_key = ${host.publicKey} where id = ${host.id}`;
    expect((await host.ask("GET", "/agent/assignments")).status).toBe(200);
    expect((await host.call("GET", "/agent/assignments", { token: credential })).status).toBe(401);
    const agent = await newAgent(organization);
    const token = newAgentToken();
    await sql`update agents set token_hash = ${hash(token)} where id = ${agent.id}`;
    expect((await newHost().call("POST", "/agent/join", { token, body: { name: "web-01" } })).status).toBe(403);
  });

  test("401: an end of the access that was put off, and the stamp of another agent", async () => {
    const organization = await newOrganization();
    const [host, other] = [await newJoinedHost(organization), await newJoinedHost(organization)];
    await organization.admin("POST", `${host.path}/credentials`, { body: { overlapSeconds: 0 } });
    await sql`update agents set access_ends_at = null where id = ${host.id}`;
    await sql`update agent_credentials set expires_at = now() + interval '1 day' where agent_id = ${host.id}`;
    expect((await host.ask("GET", "/agent/assignments")).status).toBe(401);
    expect((await host.call("POST", "/agent/credentials")).status).toBe(401);
    await sql`update agents set stamp = (select stamp from agents where id = ${host.id}) where id = ${other.id}`;
    expect((await other.ask("GET", "/agent/assignments")).status).toBe(401);
  });

  test("201: a held agent is let in again by a join token of its own, and what was planted in its row ends at once", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const own = newAgentToken();
    await sql`update agents set token_hash = ${hash(own)} where id = ${agent.id}`;
    const { status, body } = await organization.admin("POST", `${agent.path}/credentials`, { body: { overlapSeconds: 86_400 } });
    expect(status).toBe(201);
    expect((await call("GET", "/agent/assignments", { token: own })).status).toBe(401);
    const host = newHost();
    const joined = await host.call("POST", "/agent/join", { token: body.token, body: { name: "web-01" } });
    expect([joined.status, joined.body.agentId]).toEqual([201, agent.id]);
    expect((await host.call("GET", "/agent/assignments", { token: joined.body.credential })).status).toBe(200);
    expect((await organization.admin("GET", agent.path)).body.heldSince).toBeNull();
  });
});

describe("in the hour of an upgrade", () => {
  test("200: agents, join tokens and connections that the release before wrote count without a stamp, and no longer after it", async () => {
    const organization = await newOrganization();
    const target = startTarget(() => new Response());
    const [agent, host, { id, token }] = [await newAgent(organization), await newJoinedHost(organization), await newJoinToken(organization)];
    const connection = await connect(organization, "webhook", { url: `${target.url}/hook` });
    await sql`update agents set stamp = null where organization_id = ${organization.id}`;
    await sql`update agent_credentials set stamp = null where organization_id = ${organization.id}`;
    await sql`update join_tokens set stamp = null where id = ${id}`;
    await sql`update connections set stamp = null where id = ${connection}`;
    const ask = async () => [
      (await agent.call("GET", "/agent/assignments")).status,
      (await host.ask("GET", "/agent/assignments")).status,
      (await newHost().call("POST", "/agent/join", { token, body: { name: "web-02" } })).status,
      (await tryOut(organization, connection)).body.outcome,
    ];
    for (const { deps } of [world, privateWorld]) deps.stamps.trust([2]);
    try {
      expect(await ask()).toEqual([200, 200, 201, "ok"]);
    } finally {
      for (const { deps } of [world, privateWorld]) deps.stamps.trust([]);
    }
    expect(await ask()).toEqual([401, 401, 403, "failed"]);
    await target.stop();
  });
});

describe("join tokens", () => {
  const join = (token: string) => newHost().call("POST", "/agent/join", { token, body: { name: "web-01" } });

  test.each<[string, (organization: TestOrganization, agentId: string) => Promise<string>]>([
    [
      "one of the database's own making",
      async (organization) => {
        const token = newJoinText();
        await sql`
          insert into join_tokens (organization_id, id, labels, max_uses, token_hash, created_by, expires_at)
          values (${organization.id}, ${Bun.randomUUIDv7()}, '{}', 1, ${hash(token)}, '{}', now() + interval '1 day')`;
        return token;
      },
    ],
    [
      "one that was made for new agents, turned to an agent that is there",
      async (organization, agentId) => {
        const { id, token } = await newJoinToken(organization);
        await sql`update join_tokens set agent_id = ${agentId} where id = ${id}`;
        return token;
      },
    ],
    [
      "one with other labels",
      async (organization) => {
        const { id, token } = await newJoinToken(organization);
        await sql`update join_tokens set labels = '{"env": "prod"}' where id = ${id}`;
        return token;
      },
    ],
    [
      "one that is good for longer",
      async (organization) => {
        const { id, token } = await newJoinToken(organization);
        await sql`update join_tokens set expires_at = expires_at + interval '1 year' where id = ${id}`;
        return token;
      },
    ],
  ])("403: %s", async (_, plant) => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const { status, body } = await join(await plant(organization, agent.id));
    expect({ status, message: body?.message }).toEqual({ status: 403, message: expect.stringContaining("certitude secrets trust") });
    expect((await organization.admin("GET", "/agents")).body.items).toHaveLength(1);
  });
});

describe("connections", () => {
  const secrets = { signingSecret: `whsec_${Buffer.alloc(24, 7).toString("base64")}` };
  const HELD = expect.stringContaining("certitude secrets trust");

  test("a config that was written there sends no secret to where it leads: its test fails, and nothing is delivered", async () => {
    const organization = await newOrganization();
    const [ours, theirs] = [startTarget(() => new Response()), startTarget(() => new Response())];
    const channel = await openChannel(organization, "webhook", { url: `${ours.url}/hook` }, secrets);
    const [was] = await sql`select config from connections where id = ${channel.connectionId}`;
    await sql`update connections set config = ${JSON.stringify({ url: `${theirs.url}/hook` })}::text::jsonb where id = ${channel.connectionId}`;
    const tested = await tryOut(organization, channel.connectionId);
    expect(tested.body).toEqual({ outcome: "failed", message: HELD });
    expect(await channel.tryOut()).toMatchObject({ outcome: "failed", message: HELD });
    await deliver();
    expect([ours.requests.length, theirs.requests.length]).toEqual([0, 0]);
    const changed = await organization.admin("PATCH", `/core/connections/${channel.connectionId}`, { body: { name: "Mine" }, url: privateWorld.url });
    expect({ status: changed.status, message: changed.body.message }).toEqual({ status: 409, message: HELD });
    await sql`update connections set config = ${JSON.stringify(was?.config)}::text::jsonb where id = ${channel.connectionId}`;
    expect((await channel.tryOut()).outcome).toBe("delivered");
    await Promise.all([ours.stop(), theirs.stop()]);
  });

  test("another kind, and one that was inserted, are as little believed", async () => {
    const organization = await newOrganization();
    const target = startTarget(() => new Response());
    const id = await connect(organization, "webhook", { url: `${target.url}/hook` }, secrets);
    const planted = Bun.randomUUIDv7();
    await sql`
      insert into connections (organization_id, id, kind, name, name_key, config, stamp)
      select organization_id, ${planted}, kind, 'Planted', 'planted', config, stamp from connections where id = ${id}`;
    await sql`update connections set kind = 'slack' where id = ${id}`;
    for (const each of [id, planted]) expect((await tryOut(organization, each)).body).toEqual({ outcome: "failed", message: HELD });
    expect(target.requests).toEqual([]);
    await target.stop();
  });
});

describe("acme_http_answers", () => {
  const signal = new AbortController().signal;
  const newProof = () => ({
    name: "a.example",
    type: "http-01" as const,
    challenge: 0,
    challengeUrl: "https://ca.example/challenge",
    token: crypto.randomUUID().replaceAll("-", "_"),
    thumbprint: "thumbprint-of-the-account",
    state: "planned" as const,
  });
  const ask = (token: string) => call("GET", `/.well-known/acme-challenge/${token}`, { headers: { host: "a.example" } });

  test.each<[string, (token: string) => PromiseLike<unknown>]>([
    ["for another account", (token) => sql`update acme_http_answers set key_authorization = ${`${token}.theirs`} where token = ${token}`],
    ["for another name", (token) => sql`update acme_http_answers set name = 'b.example' where token = ${token}`],
    ["for longer", (token) => sql`update acme_http_answers set expires_at = expires_at + interval '1 year' where token = ${token}`],
  ])("404: an answer %s", async (_, attack) => {
    const proof = newProof();
    await http01({ ...world.deps, ownNames: () => [] }, { organizationId: Bun.randomUUIDv7(), requestId: Bun.randomUUIDv7() }).present(proof, signal);
    expect((await ask(proof.token)).text).toBe(keyAuthorizationOf(proof));
    await attack(proof.token);
    expect((await ask(proof.token)).status).toBe(404);
  });

  test("404: an answer of the database's own making", async () => {
    const { token } = newProof();
    await sql`
      insert into acme_http_answers (token, organization_id, request_id, key_authorization, name, domain, expires_at)
      values (${token}, ${Bun.randomUUIDv7()}, ${Bun.randomUUIDv7()}, ${`${token}.theirs`}, 'a.example', 'a.example', now() + interval '1 day')`;
    expect((await ask(token)).status).toBe(404);
  });
});

describe("idempotency_keys", () => {
  test("400: the stored answer of another tenant, which holds a secret, is not given to who has its row for an own one", async () => {
    const [victim, attacker] = [await newOrganization(), await newOrganization()];
    const post = (organization: TestOrganization, key: string) =>
      organization.admin("POST", "/agents", { body: { name: "web-01" }, headers: { "idempotency-key": key } });
    const { body } = await post(victim, "one");
    await post(attacker, "mine");
    await sql`
      update idempotency_keys mine set claim_id = gen_random_uuid() from idempotency_keys theirs
      where mine.caller like ${`${attacker.id}%`} and theirs.caller like ${`${victim.id}%`}`;
    const [{ claim_id: claimId, answer } = {}] = await sql`delete from idempotency_keys where caller like ${`${victim.id}%`} returning *`;
    await sql`update idempotency_keys set claim_id = ${claimId}, answer = ${answer} where caller like ${`${attacker.id}%`}`;
    const replayed = await post(attacker, "mine");
    expect(replayed.status).toBe(400);
    expect(replayed.text).not.toContain(body.token);
  });
});

describe("issued_certificates", () => {
  const never = new AbortController().signal;

  /** A certificate that is revoked, and what the authority says of it, signed again. */
  async function withRevoked() {
    const organization = await newOrganization();
    const { root, issuing } = await newHierarchy(organization, {}, {});
    const id = crypto.randomUUID();
    const ca = openssl.write(`${id}-ca.pem`, issuing.certificatePem);
    const both = openssl.write(`${id}-both.pem`, root.certificatePem + issuing.certificatePem);
    const newLeaf = async () => {
      const { pem, ...issued } = await mustIssue(openssl, organization, issuing);
      return { ...issued, file: openssl.write(`${id}-${issued.serialNumber}.pem`, pem) };
    };
    const [revoked, good] = [await newLeaf(), await newLeaf()];
    await organization.admin("POST", `/certificates/${revoked.certificateId}/revoke`, { body: { reason: "keyCompromise" } });
    const ask = async (leaf: { file: string } = revoked) =>
      (await openssl.ask("ocsp", "-issuer", ca, "-cert", leaf.file, "-url", issuing.ocspUrl, "-CAfile", both)).text;
    async function signAgain() {
      await sql`update issued_certificates set ocsp_answer = null, ocsp_due_at = now() where authority_id = ${issuing.id}`;
      await sql`update authority_publications set crl_due_at = now() where authority_id = ${issuing.id}`;
    }
    async function crl() {
      const der = new Uint8Array(await (await fetch(issuing.crlUrl)).arrayBuffer());
      return (await openssl.run("crl", "-inform", "DER", "-in", openssl.write(`${id}.crl`, der), "-noout", "-text")).toLowerCase();
    }
    return { organization, issuing, revoked, good, ask, crl, signAgain };
  }

  type Revoked = Awaited<ReturnType<typeof withRevoked>>;

  test.each<[string, (given: Revoked) => Promise<unknown>]>([
    ["without its revocation", async ({ revoked }) => sql`update issued_certificates set revoked_at = null where certificate_id = ${revoked.certificateId}`],
    [
      "of which the certificate is active",
      async ({ revoked }) => sql`update certificates set status = 'active', revoked_at = null where id = ${revoked.certificateId}`,
    ],
    [
      "of which the certificate is active, without any stamp",
      async ({ revoked }) => sql`update certificates set status = 'active', revoked_at = null, status_stamp = null where id = ${revoked.certificateId}`,
    ],
    [
      "which stands for another certificate that is active",
      async ({ revoked, good }) => {
        await sql`delete from issued_certificates where certificate_id = ${good.certificateId}`;
        await sql`update issued_certificates set certificate_id = ${good.certificateId}, revoked_at = null where certificate_id = ${revoked.certificateId}`;
      },
    ],
  ])("OCSP does not say good of a row %s, and the CRL goes on to list it", async (_, attack) => {
    const given = await withRevoked();
    expect(await given.ask()).toContain(": revoked");
    expect(await given.crl()).toContain(given.revoked.serialNumber.toLowerCase());
    await attack(given);
    await given.signAgain();
    await publish(world.deps, never).catch(() => {}); // it says that some answers could not be signed
    expect(await given.ask()).not.toContain(": good");
    expect(await given.crl()).toContain(given.revoked.serialNumber.toLowerCase());
  });

  test("OCSP says good of what is active, although the row says revoked; the CRL does not list it", async () => {
    const given = await withRevoked();
    await sql`update issued_certificates set revoked_at = now() where certificate_id = ${given.good.certificateId}`;
    await given.signAgain();
    expect(await given.ask(given.good)).toContain(": good");
    expect(await given.crl()).not.toContain(given.good.serialNumber.toLowerCase());
  });

  test("a certificate that was retired, then revoked, is no less revoked", async () => {
    const { organization, good, ask, signAgain, crl } = await withRevoked();
    await organization.admin("DELETE", `/certificates/${good.certificateId}`);
    await organization.admin("POST", `/certificates/${good.certificateId}/revoke`, { body: { reason: "keyCompromise" } });
    expect(await ask(good)).toContain(": revoked");
    expect(await crl()).toContain(good.serialNumber.toLowerCase());
    await sql`update certificates set revoked_at = null where id = ${good.certificateId}`;
    await signAgain();
    expect(await ask(good)).not.toContain(": good");
    expect(await crl()).toContain(good.serialNumber.toLowerCase());
  });
});
