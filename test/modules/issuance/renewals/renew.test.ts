import { beforeEach, describe, expect, test } from "bun:test";
import type { Driver } from "#modules/issuance/issuing/rules/driver";
import { FAILURES_ALLOWED } from "#modules/issuance/renewals/rules/backoff";
import { renewDue } from "#modules/issuance/renewals/services/renew";
import { asking } from "#modules/issuance/renewals/services/windows";
import { certificate, importInto } from "../../../support/pki/certificates";
import { dispatch } from "../../../support/server/dispatching";
import { deactivateOtherRollouts, desired, report, runRolloutJobAt } from "../../../support/server/fleet";
import { runShared } from "../../../support/server/shared-jobs";
import { world } from "../../../support/server/world";
import { newWatched, watch } from "../../certificates/expiry/watch";
import { conduct, issued, newName, newSetting, work } from "../requests/requests";
import { deploy, inDays, renew, withRenewal } from "./renewals";

beforeEach(deactivateOtherRollouts);

type Setting = Awaited<ReturnType<typeof withRenewal>>;
const fails = (setting: Pick<Setting, "issuer">) => conduct(setting.issuer.id, { take: () => ({ to: "failed", reason: "The CA says no." }) });
const statusOf = async ({ organization }: Pick<Setting, "organization">, id: string) => (await organization.member("GET", `/certificates/${id}`)).body.status;

describe("a certificate that its issuer renews", () => {
  test("is one that was issued with autoRenew, from the moment on when it was stored", async () => {
    const setting = await withRenewal();
    const { organization, order, get, list, issuer, certificateId } = setting;
    const other = await order({ autoRenew: false });
    await work();
    expect((await get(other.id)).status).toBe("issued");
    const [item, ...more] = await list();
    expect(more).toEqual([]);
    expect(item).toMatchObject({ certificateId, issuerId: issuer.id, state: "scheduled", failures: 0, window: null, lateSince: null, requestId: null });
    const { body } = await organization.member("GET", `/certificates/${certificateId}`);
    const [begin, end, at] = [body.notBefore, body.notAfter, item.renewAt].map(Date.parse) as [number, number, number];
    expect((at - begin) / (end - begin)).toBeWithin(0.63, 0.667);
  });

  test("is renewed when its request said so", async () => {
    const renewAt = inDays(10).toISOString();
    const { read } = await withRenewal({ renewAt });
    expect((await read()).renewAt).toBe(renewAt);
  });

  test("is none once it is retired, revoked for good, or its issuer is deleted", async () => {
    const [retired, revoked, deleted] = [await withRenewal(), await withRenewal(), await withRenewal()];
    await retired.organization.admin("DELETE", `/certificates/${retired.certificateId}`);
    await revoked.organization.admin("POST", `/certificates/${revoked.certificateId}/revoke`, { body: { reason: "cessationOfOperation" } });
    await deleted.organization.admin("DELETE", `/issuers/${deleted.issuer.id}`);
    for (const { organization } of [retired, revoked, deleted]) await renew(organization);
    expect(await retired.read()).toMatchObject({ state: "ended", reason: "The certificate is retired." });
    expect(await revoked.read()).toMatchObject({ state: "ended", reason: "The certificate was revoked: cessationOfOperation." });
    expect(await deleted.read()).toMatchObject({ state: "ended", reason: "The issuer was deleted." });
    expect(await deleted.list()).toEqual([]);
  });

  test("is none after one turn, however many issuers are deleted", async () => {
    const all = [await withRenewal(), await withRenewal(), await withRenewal()];
    for (const { organization, issuer } of all) await organization.admin("DELETE", `/issuers/${issuer.id}`);
    await renewDue(world.deps, new AbortController().signal);
    for (const { read } of all) expect(await read()).toMatchObject({ state: "ended" });
  });
});

describe("a certificate whose time has come", () => {
  test("is ordered once, as it was ordered, however many servers look", async () => {
    const setting = await withRenewal({ key: { location: "server", algorithm: "ecdsa-p384" } });
    await renew(setting.organization, 50);
    expect(await setting.requests()).toEqual([]);
    await renew(setting.organization, 61, 4);
    await renew(setting.organization, 62);
    const [request, ...more] = await setting.requests();
    expect(more).toEqual([]);
    expect(request).toMatchObject({
      issuerId: setting.issuer.id,
      names: setting.first.names,
      key: { algorithm: "ecdsa-p384", location: "server" },
      autoRenew: true,
      renewAt: null,
      replaces: setting.certificateId,
      createdBy: { type: "server" },
    });
    expect(await setting.read()).toMatchObject({ state: "ordered", requestId: request.id });
  });

  test("has a successor once that is issued, which is looked after in turn", async () => {
    const setting = await withRenewal({ renewAt: inDays(10).toISOString() });
    await setting.pass(11);
    const [request] = await setting.requests();
    expect(await setting.read()).toMatchObject({ state: "renewed", successorId: request.certificateId });
    expect(await setting.list()).toMatchObject([{ certificateId: request.certificateId, state: "scheduled" }]);
  });

  test("follows on its hosts, and is retired once each has the successor for a while", async () => {
    const setting = await withRenewal();
    const agents = [await deploy(setting.organization, setting.certificateId), await deploy(setting.organization, setting.certificateId)] as const;
    await report("installed", ...agents);
    await setting.pass(61);
    const { successorId } = await setting.read();
    const rotation = async () => (await setting.organization.member("GET", `/certificates/${setting.certificateId}/successor`)).body;
    expect(await rotation()).toMatchObject({ successorId, total: 2, observed: 0, retire: { share: 1, holdSeconds: 86_400 } });
    for (const agent of agents) expect((await desired(agent)).map((each) => each.certificateId)).toEqual([successorId]);
    const [first, second] = agents;
    await report("installed", first);
    await report("failed", second); // it keeps what it has
    for (const days of [61, 62, 63]) await runRolloutJobAt(inDays(days).getTime());
    expect([await statusOf(setting, setting.certificateId), (await rotation()).status]).toEqual(["active", "overlapping"]);
    await report("installed", second);
    for (const days of [63, 64.1]) await runRolloutJobAt(inDays(days).getTime());
    expect([await statusOf(setting, setting.certificateId), (await rotation()).status]).toEqual(["retired", "retired"]);
  });

  test("goes on by itself where every host has failed, and is retired once they have the successor", async () => {
    const setting = await withRenewal();
    const agent = await deploy(setting.organization, setting.certificateId);
    await report("installed", agent);
    await setting.pass(61);
    await report("failed", agent);
    await runRolloutJobAt(inDays(61).getTime());
    const rotation = async () => (await setting.organization.member("GET", `/certificates/${setting.certificateId}/successor`)).body;
    const { id, status } = await rotation();
    expect(status).toBe("overlapping");
    expect((await setting.organization.member("GET", `/rollouts/${id}`)).body).toMatchObject({ status: "running", haltShare: null });
    await report("installed", agent);
    for (const days of [62, 63.1]) await runRolloutJobAt(inDays(days).getTime());
    expect([await statusOf(setting, setting.certificateId), (await rotation()).status]).toEqual(["retired", "retired"]);
  });

  test("comes to its hosts by the next renewal where its successor is revoked before they have it, and nothing waits for a person", async () => {
    const setting = await withRenewal();
    const agent = await deploy(setting.organization, setting.certificateId);
    await setting.pass(61);
    const { successorId } = await setting.read();
    const { id } = (await setting.organization.member("GET", `/certificates/${setting.certificateId}/successor`)).body;
    await setting.organization.admin("POST", `/certificates/${successorId}/revoke`, { body: { reason: "keyCompromise" } });
    await runRolloutJobAt(inDays(61).getTime());
    expect((await setting.organization.member("GET", `/rollouts/${id}`)).body).toMatchObject({ status: "completed", reason: null });
    await setting.pass(61);
    const { successorId: next } = await setting.read(successorId);
    expect((await desired(agent)).map((each) => each.certificateId)).toEqual([next]);
  });

  test("is retired once the host that made the next key was seen with the successor for a while", async () => {
    const setting = await withRenewal();
    await deploy(setting.organization, setting.certificateId);
    await renew(setting.organization, 61);
    await work();
    const isOurs = world.sql`organization_id = ${setting.organization.id}`;
    const [request] = await setting.requests();
    await world.sql`update assignments set certificate_id = ${request.certificateId} where ${isOurs}`; // as issuing does where a host has the key
    const statusAfter = async (days: number) => {
      await renew(setting.organization, days);
      return [await statusOf(setting, setting.certificateId), (await setting.read()).state];
    };
    expect(await statusAfter(61)).toEqual(["active", "issued"]);
    expect(await statusAfter(70)).toEqual(["active", "issued"]);
    const { fingerprintSha256 } = await setting.certificateOf(request.id);
    await world.sql`update assignments set reported_state = 'installed', reported_fingerprint = ${fingerprintSha256} where ${isOurs}`;
    expect(await statusAfter(70.1)).toEqual(["active", "issued"]);
    expect(await statusAfter(71)).toEqual(["active", "issued"]);
    expect(await statusAfter(71.2)).toEqual(["retired", "renewed"]);
  });

  test("whose successor cannot follow is an event, and tried again", async () => {
    const setting = await withRenewal();
    await deploy(setting.organization, setting.certificateId);
    const admin = await setting.organization.join("ORG_ADMIN");
    await renew(setting.organization, 61);
    await work();
    await world.sql`update certificates set sealed_private_key = null where organization_id = ${setting.organization.id} and id <> ${setting.certificateId}`;
    await renew(setting.organization, 61);
    expect(await setting.read()).toMatchObject({ state: "issued", reason: expect.stringContaining("the private key") });
    await dispatch(inDays(61));
    const { body } = await admin.call("GET", "/users/me/notifications/inbox?limit=100");
    expect(body.items.map(({ kind }: { kind: string }) => kind)).toContain("certificate_renewal_failed");
  });

  test("and is revoked is renewed at once, also on its hosts", async () => {
    const setting = await withRenewal();
    const agent = await deploy(setting.organization, setting.certificateId);
    await setting.organization.admin("POST", `/certificates/${setting.certificateId}/revoke`, { body: { reason: "keyCompromise" } });
    expect(await desired(agent)).toEqual([]);
    await setting.pass(0);
    const { state, successorId } = await setting.read();
    expect(state).toBe("renewed");
    expect((await desired(agent)).map((each) => each.certificateId)).toEqual([successorId]);
  });

  test("waits while another order for its names is open", async () => {
    const setting = await withRenewal({}, (issuing) => issued(issuing));
    conduct(setting.issuer.id, { take: () => ({ to: "issuing", progress: {}, againAt: inDays(1) }) });
    await setting.order({ names: setting.first.names });
    await work();
    await renew(setting.organization, 61);
    expect(await setting.requests()).toEqual([]);
    expect(await setting.read()).toMatchObject({ state: "scheduled" });
  });

  test("is not ordered where the organization's policy does not allow its name any more", async () => {
    const setting = await withRenewal();
    await setting.organization.admin("PUT", "/issuance-policy", { body: { allowedDomains: ["*.certitude.example"] } });
    await renew(setting.organization, 61);
    expect(await setting.requests()).toEqual([]);
    expect(await setting.read()).toMatchObject({
      state: "failed",
      failures: 1,
      reason: expect.stringMatching(/^It has the name .*, which the issuance policy/),
    });
  });
});

describe("a renewal that fails", () => {
  async function withAdmin() {
    const setting = await withRenewal();
    const admin = await setting.organization.join("ORG_ADMIN");
    const received = async (days: number) => {
      await dispatch(inDays(days));
      const { body } = await admin.call("GET", "/users/me/notifications/inbox?limit=100");
      const received: { kind: string; state: string | null }[] = body.items.toReversed();
      return received.filter(({ kind }) => kind !== "certificate_issued").map(({ kind, state }) => [kind, state]);
    };
    return { ...setting, received };
  }

  test("is one event, tried again later, and over once it is issued", async () => {
    const setting = await withAdmin();
    fails(setting);
    await setting.pass(61);
    expect(await setting.read()).toMatchObject({ state: "failed", failures: 1, reason: "The CA says no." });
    expect(await setting.received(61)).toEqual([["certificate_renewal_failed", "open"]]);
    await setting.pass(61.03);
    expect(await setting.requests()).toHaveLength(1);
    await setting.pass(61.06);
    expect(await setting.requests()).toHaveLength(2);
    expect(await setting.read()).toMatchObject({ state: "failed", failures: 2 });
    expect(await setting.received(61)).toHaveLength(1);
    conduct(setting.issuer.id, { take: (issuing) => issued(issuing) });
    await setting.pass(62);
    expect(await setting.read()).toMatchObject({ state: "renewed", reason: null });
    expect((await setting.received(62)).filter(([kind]) => kind === "certificate_renewal_failed")).toEqual([["certificate_renewal_failed", "cleared"]]);
  });

  test("is late in the end, which is an event too; before, nothing is said of the expiry", async () => {
    const setting = await withAdmin();
    fails(setting);
    await setting.pass(61);
    await watch(65);
    expect((await setting.received(65)).map(([kind]) => kind)).toEqual(["certificate_renewal_failed"]);
    expect(await setting.list("?late=true")).toEqual([]);
    await setting.pass(76);
    expect(await setting.list("?late=true")).toMatchObject([{ certificateId: setting.certificateId, lateSince: expect.any(String) }]);
    await watch(77);
    expect((await setting.received(77)).map(([kind]) => kind).toSorted()).toEqual([
      "certificate_expiring",
      "certificate_renewal_failed",
      "certificate_renewal_late",
    ]);
  });

  test("spares the issuer: after some in a row one alone is tried", async () => {
    const setting = await withRenewal();
    for (let n = 0; n < FAILURES_ALLOWED + 2; n++) await setting.order({ names: [newName()] });
    await work();
    await renew(setting.organization);
    fails(setting);
    await setting.pass(62);
    expect(await setting.requests()).toHaveLength(FAILURES_ALLOWED + 3);
    await setting.pass(62.2);
    expect(await setting.requests()).toHaveLength(FAILURES_ALLOWED + 4);
    await setting.pass(62.21);
    expect(await setting.requests()).toHaveLength(FAILURES_ALLOWED + 4);
    await setting.pass(62.3);
    expect(await setting.requests()).toHaveLength(FAILURES_ALLOWED + 5);
  });

  test("does not go against a rate limit of the issuer", async () => {
    const setting = await withRenewal();
    await world.sql`update issuers set retry_at = ${inDays(62).toISOString()} where organization_id = ${setting.organization.id}`;
    await renew(setting.organization, 61);
    expect(await setting.requests()).toEqual([]);
    await renew(setting.organization, 62.01);
    await renew(setting.organization, 62.02);
    expect(await setting.requests()).toHaveLength(1);
  });
});

test("a certificate that no issuer renews: the notice of its expiry says so", async () => {
  const { organization, noticesOf, admin } = await newWatched();
  await importInto(organization, certificate({ from: -300, days: 20 }).pem);
  await watch();
  expect(await noticesOf(admin)).toMatchObject([{ kind: "certificate_expiring", message: expect.stringMatching(/ No issuer renews it\.$/) }]);
});

test("the CA's window is asked for while the CA of another organization never answers", async () => {
  const [slow, other] = [await withRenewal(), await withRenewal()];
  const { promise, resolve } = Promise.withResolvers<void>();
  const [start, end] = [inDays(20), inDays(21)];
  const asked: string[] = [];
  const findRenewalWindow = async ({ organizationId }: { organizationId: string }) => {
    asked.push(organizationId);
    if (organizationId === slow.organization.id) await promise;
    else resolve();
    return { start, end, explanationUrl: undefined, askAgainAt: inDays(0.5) };
  };
  await world.sql`
    update renewals set ask_window_at = case organization_id when ${slow.organization.id} then now() - interval '1 hour' when ${other.organization.id} then now() end`;
  const driver = { findRenewalWindow } as unknown as Driver;
  await runShared(["ask-renewal-windows"], { ...world.deps, clock: () => inDays(0.1) }, undefined, () =>
    asking({ ...world.deps, drivers: { acme: () => driver } }),
  );
  expect(asked).toEqual([slow.organization.id, other.organization.id]);
  expect(await slow.read()).toMatchObject({ window: { start: start.toISOString() } });
});

test("the CA's window has a certificate renewed earlier; another window has it planned again", async () => {
  const setting = await withRenewal();
  let [start, end] = [inDays(20), inDays(21)];
  const driver = { findRenewalWindow: async () => ({ start, end, explanationUrl: "https://ca.example/7", askAgainAt: inDays(0.5) }) } as unknown as Driver;
  const ask = async (days: number) => {
    await world.sql`update renewals set ask_window_at = case when organization_id = ${setting.organization.id} then now() end`;
    const deps = { ...world.deps, clock: () => inDays(days) };
    await runShared(["ask-renewal-windows"], deps, undefined, () => asking({ ...deps, drivers: { acme: () => driver } }));
    await renew(setting.organization);
  };
  await ask(0);
  const item = await setting.read();
  expect(item).toMatchObject({
    window: { start: start.toISOString(), end: end.toISOString(), explanationUrl: "https://ca.example/7" },
    lateAt: end.toISOString(),
  });
  expect(Date.parse(item.renewAt)).toBeWithin(start.getTime(), end.getTime() + 1);
  [start, end] = [inDays(-2), inDays(-1)];
  await ask(0.6);
  expect(await setting.read()).toMatchObject({ state: "ordered" });
});

test("the renewals of one issuer are ordered before the last of many of another: issuers take turns", async () => {
  const many = await newSetting();
  const one = await newSetting();
  const orders = 151; // one more than is looked at in a transaction
  await Promise.all(Array.from({ length: orders }, () => many.order()));
  await one.order();
  const isOurs = world.sql`organization_id in (${many.organization.id}, ${one.organization.id})`;
  while ((await world.sql`select from certificate_requests where ${isOurs} and ended_at is null limit 1`).length > 0) await work();
  await world.sql`
    update renewals set look_at = case when organization_id = ${many.organization.id} then now() - interval '1 hour' when ${isOurs} then now() end where look_at is not null`;
  await renewDue({ ...world.deps, clock: () => inDays(70) }, new AbortController().signal);
  const ordered = await world.sql<{ organizationId: string }[]>`
    select organization_id as "organizationId" from certificate_requests where ${isOurs} and replaces is not null order by id`;
  expect(ordered).toHaveLength(orders + 1);
  expect(ordered.at(-1)).toEqual({ organizationId: many.organization.id });
});
