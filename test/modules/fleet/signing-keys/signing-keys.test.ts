import { describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { anAssignment, importRoot, newAgent } from "../../../support/server/agents";
import { newJoinedHost } from "../../../support/server/hosts";
import { newOrganization } from "../../../support/server/people";
import { statementsDuring } from "../../../support/server/statements";
import { startServer, world } from "../../../support/server/world";

const STATE = "/agent/assignments";

const keyOf = (publicKey: string) => createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x: publicKey }, format: "jwk" });

/** What is wrong with the signature of an answer, read after RFC 9421 without the server's own code; undefined where it holds. */
function faultOf({ status, headers, text }: { status: number; headers: Headers; text: string }, publicKey: string) {
  const [, parameters = "", names = ""] =
    /^certitude=(\(([^)]*)\);created=\d+;keyid="[\w-]{43}";alg="ed25519")$/.exec(headers.get("signature-input") ?? "") ?? [];
  if (!parameters.includes(`keyid="${publicKey}"`)) return "another key";
  const lines = names.split(" ").map((name) => `${name}: ${name === '"@status"' ? status : headers.get(name.slice(1, -1))}`);
  const base = [...lines, `"@signature-params": ${parameters}`].join("\n");
  const value = Buffer.from(/^certitude=:(.*):$/.exec(headers.get("signature") ?? "")?.[1] ?? "", "base64");
  if (!verify(null, Buffer.from(base), keyOf(publicKey), value)) return "the signature does not hold";
  const covered = status === 200 ? '"@status" "certitude-state" "unencoded-digest"' : '"@status" "certitude-state"';
  if (names !== covered) return `it covers ${names}`;
  const digest = `sha-256=:${new Bun.CryptoHasher("sha256").update(text).digest("base64")}:`;
  if (status === 200 && headers.get("unencoded-digest") !== digest) return "another content";
}

describe("a desired state", () => {
  test("is signed for its agent and in answer to its request, 304 too", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    await organization.admin("POST", host.assignments, { body: anAssignment(await importRoot(organization)) });
    const nonce = Bun.randomUUIDv7();
    const full = await host.ask("GET", STATE, { nonce });
    const tag = full.headers.get("etag")?.slice(1, -1);
    expect([full.status, faultOf(full, host.signingKey)]).toEqual([200, undefined]);
    expect(full.headers.get("certitude-state")).toBe(`organization="${organization.id}", agent="${host.id}", tag="${tag}", nonce="${nonce}"`);
    const same = await host.ask("GET", STATE, { headers: { "if-none-match": `"${tag}"` } });
    expect([same.status, same.text, faultOf(same, host.signingKey)]).toEqual([304, "", undefined]);
    expect(same.headers.get("certitude-state")).not.toContain(nonce);
  });

  test("is signed for a long-lived token too, once a nonce asks for it; an agent that knows no signatures gets none", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const plain = await agent.call("GET", STATE);
    expect([plain.status, plain.headers.get("signature"), plain.headers.get("certitude-state")]).toEqual([200, null, null]);
    const signed = await agent.call("GET", STATE, { headers: { "certitude-nonce": crypto.randomUUID() } });
    const [key] = (await organization.member("GET", "/signing-keys")).body.items;
    expect(faultOf(signed, key.publicKey)).toBeUndefined();
    expect(key).toMatchObject({ generation: 1, endorsement: null, createdBy: { type: "server" } });
  });

  test("costs one statement with 304, also signed and with a credential", async () => {
    const host = await newJoinedHost(await newOrganization());
    const tag = (await host.ask("GET", STATE)).headers.get("etag") ?? "";
    expect(await statementsDuring(() => host.ask("GET", STATE, { headers: { "if-none-match": tag } }))).toHaveLength(1);
  });

  test("is signed by no key that was written into the database: 500, and the agent is sent nothing", async () => {
    const organization = await newOrganization();
    const other = await newJoinedHost(await newOrganization());
    const host = await newJoinedHost(organization);
    await world.sql`
      insert into signing_keys (organization_id, id, generation, public_key, sealed_private_key, created_by)
      select ${organization.id}, id, 2, public_key, sealed_private_key, created_by from signing_keys where public_key = ${other.signingKey}`;
    expect((await host.ask("GET", STATE)).status).toBe(500);
  });
});

describe("POST /organizations/{organizationId}/signing-keys", () => {
  test("403 for an ORG_MEMBER", async () => {
    expect((await (await newOrganization()).member("POST", "/signing-keys")).status).toBe(403);
  });

  test("201: the next answer of every server is signed with the new key, which the one before endorses and then is no more", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    const another = startServer(world.config, world.database);
    expect(faultOf(await host.ask("GET", STATE, { url: another.url }), host.signingKey)).toBeUndefined();
    const rotated = await organization.admin("POST", "/signing-keys");
    const { publicKey, endorsement } = rotated.body;
    expect([rotated.status, rotated.body.generation]).toEqual([201, 2]);
    for (const { url } of [world, another]) expect(faultOf(await host.ask("GET", STATE, { url }), publicKey)).toBeUndefined();
    const said = `certitude signing key of ${organization.id}: ${publicKey}`;
    expect(verify(null, Buffer.from(said), keyOf(host.signingKey), Buffer.from(endorsement, "base64"))).toBe(true);
    expect([...(await world.sql`select generation from signing_keys where organization_id = ${organization.id} and sealed_private_key is not null`)]).toEqual([
      { generation: 2 },
    ]);
    const { items } = (await organization.admin("GET", "/audit-events?action=signing-key.created")).body;
    expect(items.map((each: { details: object; actor: { type: string } }) => [each.actor.type, each.details])).toEqual([
      ["gateway", { generation: 2, publicKey }],
      ["server", { generation: 1, publicKey: host.signingKey }],
    ]);
    await another.server.stop(true);
  });

  test("201 for several at once, one after the other; GET /agent/signing-keys leads from any of them to the last", async () => {
    const organization = await newOrganization();
    const host = await newJoinedHost(organization);
    const answers = await Promise.all(Array.from({ length: 4 }, () => organization.admin("POST", "/signing-keys")));
    expect(answers.map((each) => each.body.generation).toSorted()).toEqual([2, 3, 4, 5]);
    const { items } = (await organization.member("GET", "/signing-keys")).body;
    const newest = items.map((each: { publicKey: string }) => each.publicKey);
    const follow = async (of: string) =>
      (await host.ask("GET", `/agent/signing-keys?of=${of}`)).body.items.map((each: { publicKey: string }) => each.publicKey);
    expect(await follow(host.signingKey)).toEqual(newest.slice(0, 4).toReversed());
    expect(await follow(newest[1])).toEqual([newest[0]]);
    const foreign = await newJoinedHost(await newOrganization());
    expect(await follow(foreign.signingKey)).toEqual([]);
  });
});
