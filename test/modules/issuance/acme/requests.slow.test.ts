import { expect, setDefaultTimeout } from "bun:test";
import { X509Certificate } from "node:crypto";
import type { Deps } from "#deps";
import { acmeDriver } from "#modules/issuance/acme/services/keep";
import { findStored } from "#modules/issuance/issuers/queries/issuers";
import { openIssuer } from "#modules/issuance/issuers/services/secrets";
import { dnsNames, newAccountKey, newName, takeSteps } from "../../../support/issuance/acme";
import { type Conduct, startDirectory } from "../../../support/issuance/directory";
import { type Pebble, startPebble } from "../../../support/issuance/pebble";
import { otherAlgorithms, startZones, type Zones } from "../../../support/issuance/zones";
import { needing } from "../../../support/needing";
import { newOrganization } from "../../../support/server/people";
import { ISSUING, runShared } from "../../../support/server/shared-jobs";
import { startServer, world } from "../../../support/server/world";

const { afterAll, beforeAll, describe, test } = needing("pebble", "named", "rndc");

setDefaultTimeout(300_000);

const { sql } = world;
let server: ReturnType<typeof startServer>;
let zones: Zones;
let pebble: Pebble;
const stops: (() => unknown)[] = [];
beforeAll(async () => {
  await sql`update certificate_requests set due_at = null where due_at is not null`; // of other tests
  server = startServer({ ...world.config, allowPrivateTargets: true }, world.database);
  zones = await startZones();
  pebble = await startPebble({ dnsServer: zones.server });
  stops.push(() => server.server.stop(true), zones.stop, pebble.stop);
});
afterAll(() => Promise.all(stops.map((stop) => stop())));

const never = (): never => {
  throw new Error("the issuer is not there");
};

type Directory = { directoryUrl: string; caBundlePem: string };

/** An organization with an issuer, and what it does there. */
async function newSetting({ directoryUrl, caBundlePem }: Directory, { config = {}, secrets = {} }: { config?: object; secrets?: object } = {}) {
  const organization = await newOrganization();
  const send = (method: string, path: string, body?: object) => organization.admin(method, path, { url: server.url, ...(body && { body }) });
  const given = { kind: "acme", name: "A CA", config: { directoryUrl, caBundlePem, termsOfServiceAgreed: true, ...config }, secrets };
  const { status, body: issuer, text } = await send("POST", "/issuers", given);
  if (status !== 201) throw new Error(text);
  /** Orders a certificate. Returns the request as it is once it has ended, and nothing is left behind. */
  const order = (...names: string[]) => orderAs(server.deps, ...names);
  async function orderAs(deps: Deps, ...names: string[]) {
    const { body } = await send("POST", "/certificate-requests", { issuerId: issuer.id, names, key: { location: "server" } });
    for (;;) {
      await sql`update certificate_requests set due_at = now() where id = ${body.id} and due_at is not null`;
      await sql`update issuers set due_at = now(), retry_at = null where id = ${issuer.id}`;
      await runShared(ISSUING, deps);
      const [row] = await sql<
        { isDone: boolean }[]
      >`select ended_at is not null and due_at is null as "isDone" from certificate_requests where id = ${body.id}`;
      if (row?.isDone) return (await send("GET", `/certificate-requests/${body.id}`)).body;
      await Bun.sleep(20); // the CA validates
    }
  }
  return { organization, issuer, send, order, orderAs, path: `/issuers/${issuer.id}` };
}

/** dns-01 at the zones of these tests. */
function overDns() {
  const [key] = otherAlgorithms;
  if (!key) throw new Error("there is no key");
  const { server: primary } = zones;
  const challenge = {
    type: "dns-01",
    provider: "rfc2136",
    server: primary,
    keyName: key.name,
    algorithm: key.algorithm,
    resolvers: [primary],
    nameservers: [primary],
  };
  return { config: { challenges: [challenge] }, secrets: { tsigSecret: key.secret } };
}

describe("an issuer that proves names over DNS", () => {
  test("has a wildcard and its domain issued by a CA that asks the same name servers, and leaves no record behind", async () => {
    const { order } = await newSetting(pebble, overDns());
    const name = `${crypto.randomUUID()}.example.test`;
    const { steps, ...request } = await order(name, `*.${name}`);
    expect(request).toMatchObject({ status: "issued", reason: null });
    const read = steps.map(({ status, reason }: { status: string; reason: string | null }) => [status, reason].join(": "));
    expect(read.filter((each: string) => !each.includes("cannot be seen yet"))).toEqual([
      "pending: ",
      "pending: The server has made the key.",
      "validating: The CA is asked for an order.",
      "validating: The proofs for the CA are made ready.",
      "validating: The CA validates the names.",
      "issuing: The CA issues the certificate.",
      "issued: ",
    ]);
    expect(await zones.valuesOf(`_acme-challenge.${name}`)).toEqual([]);
  });

  test("says that the name server has another key, and is not asked to take away what it never had", async () => {
    const { config } = overDns();
    const { order } = await newSetting(pebble, { config, secrets: { tsigSecret: Buffer.alloc(32, 1).toString("base64") } });
    const { status, reason } = await order(`${crypto.randomUUID()}.example.test`);
    expect({ status, reason }).toEqual({ status: "failed", reason: expect.stringContaining("has another secret for the key") });
  });
});

describe("a domain that a certificate has proven", () => {
  test("is the organization's, but not by a CA of its own; another one then proves no name of it over HTTP", async () => {
    const holder = async () => (await sql`select organization_id from domain_holders where domain = 'example.test'`)[0]?.organization_id;
    const { organization, orderAs } = await newSetting(pebble, overDns());
    const order = (roots: string[]) => orderAs({ ...server.deps, trustedRoots: () => roots }, `${crypto.randomUUID()}.example.test`);
    expect(await order([])).toMatchObject({ status: "issued" });
    expect(await holder()).toBeUndefined();
    expect(await order([await pebble.root()])).toMatchObject({ status: "issued" });
    expect(await holder()).toBe(organization.id);
    const other = await newSetting(pebble);
    expect(await other.order("www.example.test")).toMatchObject({
      status: "failed",
      reason: expect.stringMatching(/^www\.example\.test cannot be proven by http-01: another organization of this server has example\.test\./),
    });
  });
});

describe("an issuer with a next account key", () => {
  test("has the directory change to it when it is tested, and keeps its account", async () => {
    const { organization, issuer, send, path, order } = await newSetting(pebble, overDns());
    const test = async () => (await send("POST", `${path}/test`)).body;
    expect(await test()).toEqual({ outcome: "ok", message: "The directory answers and accepts the account." });
    const before = (await send("GET", path)).body;
    const former = openIssuer(server.deps, (await findStored(sql, organization.id, issuer.id)) ?? never());
    if ("fault" in former) throw new Error(former.fault);
    const changed = (await send("PATCH", path, { secrets: { nextAccountKeyPem: newAccountKey() } })).body;
    expect(changed).toMatchObject({ account: before.account, secretNames: expect.arrayContaining(["nextAccountKeyPem"]) });
    expect(await test()).toMatchObject({ outcome: "ok" });
    const after = (await send("GET", path)).body;
    expect(after.account.url).toBe(before.account.url);
    expect(after.account.thumbprint).not.toBe(before.account.thumbprint);
    expect(after.secretNames.toSorted()).toEqual(["accountKeyPem", "tsigSecret"]);
    const actions = await sql<
      { action: string }[]
    >`select action from audit_events where organization_id = ${organization.id} and target_type = 'issuer' order by id`;
    expect(actions.map(({ action }) => action)).toEqual(expect.arrayContaining(["issuer.account-changed", "issuer.account-key-changed"]));
    expect(await order(`${crypto.randomUUID()}.example.test`)).toMatchObject({ status: "issued" });
    // A server that has read the issuer before signs with the former key.
    const names = dnsNames(`${crypto.randomUUID()}.example.test`);
    const progress = { stage: "ordering", since: new Date().toISOString() };
    const { last } = await takeSteps(acmeDriver(server.deps), former, { names, progress }, () => true);
    expect(last).toMatchObject({ to: "retry", reason: "The issuer has another account key by now." });
  });
});

describe("a certificate that is revoked here", () => {
  test("is revoked by its CA too, for the same reason, and the CA is asked once", async () => {
    const { organization, send, order } = await newSetting(pebble, overDns());
    const { certificateId } = await order(`${crypto.randomUUID()}.example.test`);
    const { pem } = (await send("GET", `/certificates/${certificateId}`)).body;
    const statusAtCa = () => pebble.statusOf(new X509Certificate(pem).serialNumber);
    const revokeAll = () => runShared(["tell-revocations"], server.deps);
    await send("POST", `/certificates/${certificateId}/revoke`, { reason: "certificateHold" });
    await revokeAll();
    expect(await statusAtCa()).toMatchObject({ Status: "Valid" });
    expect(await send("POST", `/certificates/${certificateId}/reinstate`)).toMatchObject({ status: 200 });
    await send("POST", `/certificates/${certificateId}/revoke`, { reason: "keyCompromise" });
    await revokeAll();
    expect(await statusAtCa()).toMatchObject({ Status: "Revoked", Reason: 1 });
    const list = async () => (await send("GET", `/revocations?certificateId=${certificateId}`)).body.items;
    expect(await list()).toMatchObject([{ state: "told", reason: "keyCompromise", toldAt: expect.any(String), nextAttemptAt: null }]);
    // A server that was killed before it kept the answer asks again: the CA has revoked it already.
    await sql`update ca_revocations set state = 'pending', due_at = now(), told_at = null where organization_id = ${organization.id}`;
    await revokeAll();
    expect(await list()).toMatchObject([{ state: "told", failure: null }]);
  });
});

describe("a certificate that is not what was asked for fails its request", () => {
  const at = async (conduct: Conduct, name = newName()) => {
    const directory = startDirectory(conduct);
    stops.push(directory.stop);
    const { status, reason } = await (await newSetting(directory)).order(name);
    return { status, reason };
  };

  test("where it is for another key", async () => {
    const reason = "What the issuer answered was not taken. The certificate has another key than was asked for.";
    expect(await at({})).toEqual({ status: "failed", reason });
  });

  test("where the chain is none", async () => {
    const reason = "The CA sent a chain that holds something which is no certificate.";
    expect(await at({ "/certificate": () => new Response("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n") })).toEqual({
      status: "failed",
      reason,
    });
  });
});
