import { describe, expect, test } from "bun:test";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { keyContext } from "#modules/certificates/certificates/rules/key-context";
import { importCertificates } from "#modules/certificates/certificates/services/import";
import type { Issuing, Step } from "#modules/issuance/issuing/rules/driver";
import { stampRequest } from "#modules/issuance/requests/queries/asked-keys";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newCsr } from "../../../support/pki/csr";
import { listKeyProcesses, stopKeyProcess } from "../../../support/server/children";
import { world } from "../../../support/server/world";
import { issued, newName, newSetting, PATH, passTime, work } from "./requests";

const { sql } = world;
const now = () => new Date();
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000);
const rowOf = async (id: string) => (await sql`select * from certificate_requests where id = ${id}`)[0];
const actionsOf = async (organization: { id: string }, id: string) =>
  (await sql<{ action: string }[]>`select action from audit_events where organization_id = ${organization.id} and target_id = ${id} order by id`).map(
    ({ action }) => action,
  );

describe("a request whose key the server makes", () => {
  test("is issued: the certificate has the key, the names and the chain, and the request has no key any more", async () => {
    const { organization, order, get, certificateOf } = await newSetting();
    const { id, names } = await order({ names: [newName(), "192.0.2.7"] });
    await work();
    expect(await get(id)).toMatchObject({
      status: "issued",
      reason: null,
      endedAt: expect.any(String),
      steps: [{ status: "pending" }, { status: "pending", reason: "The server has made the key." }, { status: "issued", reason: null }],
    });
    const stored = await certificateOf(id);
    expect(stored).toMatchObject({ hasPrivateKey: true, subjectAlternativeNames: { dns: names.slice(0, 1), ip: ["192.0.2.7"] } });
    expect(stored.issuerCertificateId).not.toBeNull();
    const [row] = await sql`select sealed_private_key as sealed from certificates where organization_id = ${organization.id} and id = ${stored.id}`;
    const privateKey = world.config.keyring.unseal(row?.sealed, keyContext(organization.id, stored.fingerprintSha256));
    expect(createPublicKey(privateKey).equals(stored.x509.publicKey)).toBe(true);
    expect(await rowOf(id)).toMatchObject({ sealed_private_key: null, due_at: null, claimed_until: null });
    expect(await actionsOf(organization, id)).toEqual(["certificate-request.created", "certificate-request.key-made", "certificate-request.issued"]);
    expect(await actionsOf(organization, stored.id)).toEqual(["certificate.imported"]);
  });

  test.each(["ecdsa-p384", "rsa-2048"])("is issued with a key of %s", async (algorithm) => {
    const { order, certificateOf } = await newSetting();
    const { id } = await order({ key: { location: "server", algorithm } });
    await work();
    const { key } = await certificateOf(id);
    expect(key).toMatchObject(algorithm === "rsa-2048" ? { algorithm: "RSA", size: 2_048 } : { algorithm: "EC", curve: "P-384" });
  });
});

test("a server that stops ends the process that makes a request's key, and leaves the request to others", async () => {
  const { order, get, statusesOf } = await newSetting();
  const { id } = await order({ key: { location: "server", algorithm: "rsa-4096" } });
  const stopping = new AbortController();
  const turn = work(world.deps, stopping.signal);
  await stopKeyProcess();
  stopping.abort();
  await turn;
  expect(listKeyProcesses()).toEqual([]);
  expect(await statusesOf(id)).toEqual(["pending"]);
  await work();
  expect((await get(id)).status).toBe("issued");
});

test("a request with a CSR is issued without a key here", async () => {
  const { order, certificateOf } = await newSetting();
  const { csrPem, keyPem } = await newCsr();
  const { id } = await order({ names: ["www.example.org"], csrPem, key: { location: "csr" } });
  await work();
  const stored = await certificateOf(id);
  expect(stored.hasPrivateKey).toBe(false);
  expect(stored.x509.checkPrivateKey(createPrivateKey(keyPem))).toBe(true);
});

describe("the steps of a driver", () => {
  test("each gets what the one before returned, in the order's own words", async () => {
    const seen: Issuing[] = [];
    const steps: ((issuing: Issuing) => Step | Promise<Step>)[] = [
      () => ({ to: "validating", progress: { order: 1 }, againAt: now() }),
      () => ({ to: "validating", progress: { order: 1, received: true }, reason: "It is being proven.", againAt: now() }),
      () => ({ to: "issuing", progress: { order: 1, final: true }, againAt: now() }),
      issued,
    ];
    const { organization, issuer, order, get } = await newSetting((issuing) => {
      seen.push(issuing);
      return steps[seen.length - 1]?.(issuing) ?? { to: "failed", reason: "There is no such step." };
    });
    const { id, names } = await order({ profile: "short" });
    await work();
    expect(seen.map(({ progress }) => progress)).toEqual([undefined, { order: 1 }, { order: 1, received: true }, { order: 1, final: true }]);
    expect(seen[0]).toMatchObject({
      organizationId: organization.id,
      requestId: id,
      issuerId: issuer.id,
      names: [{ type: "dns", value: names[0] }],
      profile: "short",
      replaces: null,
    });
    const { steps: kept } = await get(id);
    expect(kept.map(({ status, reason }: { status: string; reason: string }) => [status, reason])).toEqual([
      ["pending", null],
      ["pending", "The server has made the key."],
      ["validating", null],
      ["validating", "It is being proven."],
      ["issuing", null],
      ["issued", null],
    ]);
    expect(await actionsOf(organization, id)).toEqual(["created", "key-made", "validating", "issuing", "issued"].map((each) => `certificate-request.${each}`));
  });

  test("a step that is due later is taken later", async () => {
    let isReady = false;
    const { organization, order, get } = await newSetting((issuing) =>
      isReady ? issued(issuing) : { to: "validating", progress: {}, againAt: inSeconds(60) },
    );
    const { id } = await order();
    await work();
    isReady = true;
    await work();
    expect((await get(id)).status).toBe("validating");
    await passTime(organization);
    await work();
    expect((await get(id)).status).toBe("issued");
  });

  test("a step without news leaves no step behind", async () => {
    const { organization, order, statusesOf } = await newSetting(() => ({ to: "validating", progress: {}, againAt: inSeconds(60) }));
    const { id } = await order();
    for (let turn = 0; turn < 3; turn++) {
      await work();
      await passTime(organization);
    }
    expect(await statusesOf(id)).toEqual(["pending", "pending", "validating"]);
  });

  test("a failure for good is kept with its reason, and an event", async () => {
    const { organization, order, get } = await newSetting(() => ({ to: "failed", reason: "The CA refuses the name." }));
    const { id, names } = await order();
    await work();
    expect(await get(id)).toMatchObject({ status: "failed", reason: "The CA refuses the name.", certificateId: null, endedAt: expect.any(String) });
    expect(await rowOf(id)).toMatchObject({ sealed_private_key: null, due_at: null });
    const events = await sql`select kind, data from notification_events where organization_id = ${organization.id}`;
    expect([...events]).toEqual([{ kind: "certificate_request_failed", data: { requestId: id, name: names[0], reason: "The CA refuses the name." } }]);
  });

  test("what may pass, and what a driver throws, is tried again later", async () => {
    let tries = 0;
    const { organization, order, get } = await newSetting((issuing) => {
      if (++tries === 1) throw new Error("a secret");
      return tries === 2 ? { to: "retry", at: now(), reason: "It is away." } : issued(issuing);
    });
    const { id } = await order();
    await work();
    await work();
    expect(tries).toBe(1);
    expect(await get(id)).toMatchObject({ status: "pending", nextAttemptAt: expect.any(String), reason: expect.not.stringContaining("secret") });
    await passTime(organization);
    await work();
    expect(await get(id)).toMatchObject({ reason: "It is away." });
    const [row] = await sql<{ wait: number }[]>`select extract(epoch from due_at - now())::float8 as wait from certificate_requests where id = ${id}`;
    expect(row?.wait).toBeWithin(50, 76); // the second failure: a minute, and a quarter more at most
    await passTime(organization);
    await work();
    expect(await get(id)).toMatchObject({ status: "issued", nextAttemptAt: null });
  });

  test("is given up after three days", async () => {
    const { organization, order, get } = await newSetting(() => ({ to: "retry", at: now(), reason: "It is away." }));
    const { id } = await order();
    await work();
    await sql`update certificate_requests set failing_since = now() - interval '73 hours' where id = ${id}`;
    await passTime(organization);
    await work();
    expect(await get(id)).toMatchObject({ status: "failed", reason: "It was given up after three days of failures. It is away." });
  });
});

describe("an issuer that limits its rate", () => {
  test("is asked by nobody before its time, then by one request; what comes later begins at once when that went well", async () => {
    let isLimited = true;
    const asked: string[] = [];
    const { organization, issuer, order, get } = await newSetting((issuing) => {
      asked.push(issuing.requestId);
      return isLimited ? { to: "retry", at: inSeconds(3_600), reason: "rateLimited", ofIssuer: true } : issued(issuing);
    });
    await order();
    await work();
    const others = await Promise.all([order(), order(), order()]);
    await work();
    expect(asked).toHaveLength(1);
    const shown = async () => (await organization.member("GET", `/issuers/${issuer.id}`)).body;
    expect(Date.parse((await shown()).retryAt)).toBeGreaterThan(Date.now() + 3_590_000);
    await passTime(organization);
    await work();
    expect(asked).toHaveLength(2);
    isLimited = false;
    await passTime(organization);
    await work();
    expect((await shown()).retryAt).toBeNull();
    for (const { id } of others.slice(0, 2)) expect(["issued", "pending"]).toContain((await get(id)).status);
    await passTime(organization);
    await work();
    for (const { id } of others) expect((await get(id)).status).toBe("issued");
  });

  test("holds up no other issuer", async () => {
    const { promise: isOver, resolve } = Promise.withResolvers<void>();
    const slow = await newSetting(async (issuing) => {
      await isOver;
      return issued(issuing);
    });
    const fast = await newSetting();
    const held = await Promise.all(Array.from({ length: 40 }, () => slow.order()));
    const { id } = await fast.order();
    const turn = work();
    while ((await fast.get(id)).status !== "issued") await Bun.sleep(10);
    resolve();
    await turn;
    for (const each of held) expect((await slow.get(each.id)).status).toBe("issued");
  });
});

describe("the answer of an issuer", () => {
  test("is not stored where it is not what was asked for", async () => {
    const { organization, order, get } = await newSetting(() => ({ to: "issued", chainPem: certificate({ dns: ["other.example"] }).pem }));
    const { id } = await order();
    await work();
    expect(await get(id)).toMatchObject({
      status: "failed",
      certificateId: null,
      reason: "What the issuer answered was not taken. The certificate has another key than was asked for.",
    });
    expect((await organization.member("GET", "/certificates")).body.items).toEqual([]);
  });

  test("is stored once though another import has brought it meanwhile, with the key", async () => {
    const { organization, order, certificateOf } = await newSetting(async (issuing) => {
      const step = await issued(issuing);
      if (step.to === "issued")
        await importCertificates(sql, { keyring: world.config.keyring, stamps: world.deps.stamps }, organization.scope, { pem: step.chainPem });
      return step;
    });
    const { id } = await order();
    await work();
    expect((await certificateOf(id)).hasPrivateKey).toBe(true);
  });

  test("has the owner, contacts, labels and notes of the certificate that it replaces, which the driver is shown", async () => {
    const shown: (string | null)[] = [];
    const { organization, order, certificateOf } = await newSetting((issuing) => {
      shown.push(issuing.replaces);
      return issued(issuing);
    });
    const owner = await organization.join();
    const { pem } = certificate();
    const [replaces] = await importInto(organization, pem);
    const noted = { ownerId: owner.id, contacts: ["pki@certitude.example"], labels: { env: "prod" }, notes: "By hand." };
    await organization.admin("PATCH", `/certificates/${replaces}`, { body: noted });
    const { id } = await order();
    await sql`update certificate_requests set replaces = ${replaces} where id = ${id}`;
    await stampRequest(sql, world.deps.stamps, organization.id, id);
    await work();
    expect(await certificateOf(id)).toMatchObject(noted);
    expect(new X509Certificate(shown[0] ?? "").fingerprint256).toBe(new X509Certificate(pem).fingerprint256);
  });
});

describe("POST …/certificate-requests/{requestId}/cancel", () => {
  test("403, 404, 412; 200 and nothing is asked of the issuer; 409 when it has ended", async () => {
    let tries = 0;
    const { organization, order, get } = await newSetting(() => {
      tries++;
      return { to: "failed", reason: "It was asked." };
    });
    const { id } = await order();
    const path = `${PATH}/${id}/cancel`;
    expect((await organization.member("POST", path)).status).toBe(403);
    expect((await organization.admin("POST", `${PATH}/${crypto.randomUUID()}/cancel`)).status).toBe(404);
    expect((await organization.admin("POST", path, { headers: { "if-match": '"7"' } })).status).toBe(412);
    expect(await organization.admin("POST", path)).toMatchObject({ status: 200, body: { status: "cancelled", endedAt: expect.any(String) } });
    expect(await organization.admin("POST", path)).toMatchObject({ status: 409, body: { message: "The certificate request has ended already." } });
    await work();
    expect(tries).toBe(0);
    expect(await get(id)).toMatchObject({ status: "cancelled", reason: "It was cancelled." });
    expect(await actionsOf(organization, id)).toEqual(["certificate-request.created", "certificate-request.cancelled"]);
  });

  test("has what its proofs left behind taken away, also of the step that was under way", async () => {
    const ended: unknown[] = [];
    const { promise: isAsked, resolve: ask } = Promise.withResolvers<void>();
    const { promise: isCancelled, resolve: cancel } = Promise.withResolvers<void>();
    const { organization, order, get } = await newSetting(
      async () => {
        ask();
        await isCancelled;
        return { to: "validating", progress: { token: "x" }, againAt: now() };
      },
      ({ progress }) => void ended.push(progress),
    );
    const { id } = await order();
    const turn = work();
    await isAsked;
    await organization.admin("POST", `${PATH}/${id}/cancel`);
    cancel();
    await turn;
    await work();
    expect(ended).toEqual([{ token: "x" }]);
    expect(await rowOf(id)).toMatchObject({ due_at: null, progress: null });
    expect((await get(id)).status).toBe("cancelled");
  });

  test("does not store what is issued in the same moment", async () => {
    const { organization, order, get } = await newSetting(async (issuing) => {
      await organization.admin("POST", `${PATH}/${issuing.requestId}/cancel`);
      return issued(issuing);
    });
    const { id } = await order();
    await work();
    expect(await get(id)).toMatchObject({ status: "cancelled", certificateId: null });
    expect((await organization.member("GET", "/certificates")).body.items).toEqual([]);
  });
});

test("the removal of what a proof left behind is tried again where it failed", async () => {
  let tries = 0;
  const { organization, order, get } = await newSetting(
    (issuing) => (issuing.progress ? issued(issuing) : { to: "validating", progress: { token: "x" }, againAt: now() }),
    () => {
      if (++tries === 1) throw new Error("It is away.");
    },
  );
  const { id } = await order();
  await work();
  expect((await get(id)).status).toBe("issued");
  expect(tries).toBe(1);
  await passTime(organization);
  await work();
  expect(tries).toBe(2);
  expect(await rowOf(id)).toMatchObject({ due_at: null, progress: null });
});

test("DELETE of an issuer is 409 while a request is open at it", async () => {
  const { organization, issuer, order } = await newSetting();
  const { id } = await order();
  const path = `/issuers/${issuer.id}`;
  expect(await organization.admin("DELETE", path)).toMatchObject({
    status: 409,
    body: { message: `The certificate request ${id} is open at this issuer. Cancel it, or wait until it has ended.` },
  });
  await work();
  expect((await organization.admin("DELETE", path)).status).toBe(204);
});

test("a step that takes long stays its server's, which says so again and again", async () => {
  const { order, get } = await newSetting(async (issuing) => {
    const claimedUntil = async () => String((await rowOf(issuing.requestId))?.claimed_until);
    const first = await claimedUntil();
    while ((await claimedUntil()) === first) await Bun.sleep(50);
    return issued(issuing);
  });
  const { id } = await order();
  await work();
  expect((await get(id)).status).toBe("issued");
});

test("two servers at once take each step once", async () => {
  const taken: string[] = [];
  const { order, get } = await newSetting((issuing) => {
    taken.push(issuing.requestId);
    return issued(issuing);
  });
  const orders = await Promise.all(Array.from({ length: 30 }, () => order()));
  await Promise.all([work(), work(), work()]);
  await work();
  for (const { id } of orders) expect((await get(id)).status).toBe("issued");
  expect(taken.toSorted()).toEqual(orders.map(({ id }) => id).toSorted());
});
