import { beforeEach, describe, expect, test } from "bun:test";
import type { Revoked } from "#modules/issuance/issuing/rules/driver";
import { revoking } from "#modules/issuance/revocations/services/revoke";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newAuthority, rootBody } from "../../../support/pki/issuing";
import { dispatch } from "../../../support/server/dispatching";
import { runShared } from "../../../support/server/shared-jobs";
import { world } from "../../../support/server/world";
import { acme, authority } from "../issuers/issuers";
import { conduct, DRIVERS, issued, newSetting, work } from "../requests/requests";

const { sql } = world;
const MINUTE = 60_000;
const inMs = (ms: number) => new Date(Date.now() + ms);

beforeEach(async () => {
  await sql`update ca_revocations set due_at = null`; // of other tests
});

/** One turn of the job on each of some servers at once, so much later. */
async function revokeAll(afterMs = 0, servers = 1) {
  const deps = { ...world.deps, clock: () => inMs(afterMs + 100) }; // the database rounds its clock
  await Promise.all(Array.from({ length: servers }, () => runShared(["tell-revocations"], deps, undefined, () => revoking({ ...deps, drivers: DRIVERS }))));
}

/** Certificates of an ACME issuer, whose CA answers as `answer` says; `asked` is what it was asked for. */
async function withCertificates(count = 1) {
  const setting = await newSetting(undefined, undefined, acme({ name: crypto.randomUUID() }));
  const { organization, issuer, order, get } = setting;
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { id } = await order();
    await work();
    ids.push((await get(id)).certificateId);
  }
  const asked: object[] = [];
  const ca = { answer: (): Revoked => ({ to: "revoked" }) };
  const revoke = (revoked: object) => {
    asked.push(revoked);
    return ca.answer();
  };
  conduct(issuer.id, { take: (issuing) => issued(issuing), revoke });
  const change = async (action: string, reason?: string, id = ids[0]) =>
    (await organization.admin("POST", `/certificates/${id}/${action}`, { body: { ...(reason && { reason }) } })).status;
  return {
    ...setting,
    ids,
    asked,
    ca,
    revoke: (reason?: string, id?: string) => change("revoke", reason, id),
    reinstate: () => organization.admin("POST", `/certificates/${ids[0]}/reinstate`),
    list: async (query = "") => (await organization.member("GET", `/revocations${query}`)).body.items,
    actions: async () =>
      (
        await sql<{ action: string }[]>`select action from audit_events where organization_id = ${organization.id} and action ~ '-ca$|revocation' order by id`
      ).map(({ action }) => action),
  };
}

describe("a revocation of what a CA elsewhere has issued", () => {
  test("is revoked while the CAs of another organization never answer", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const slow: Awaited<ReturnType<typeof withCertificates>>[] = [];
    for (let count = 0; count < 6; count++) slow.push(await withCertificates());
    for (const { issuer, revoke } of slow) {
      conduct(issuer.id, {
        take: (issuing) => issued(issuing),
        revoke: async () => {
          await promise;
          return { to: "revoked" };
        },
      });
      expect(await revoke()).toBe(200);
    }
    const { asked, revoke } = await withCertificates();
    expect(await revoke("keyCompromise")).toBe(200);
    const turn = revokeAll();
    while (asked.length === 0) await Bun.sleep(10);
    resolve();
    await turn;
    for (const { list } of slow) expect(await list("?state=told")).toHaveLength(1);
  });

  test("is revoked at the CA once, by however many servers, with the reason", async () => {
    const { organization, issuer, ids, asked, revoke, list, actions } = await withCertificates();
    expect(await revoke("keyCompromise")).toBe(200);
    expect(await list()).toMatchObject([{ certificateId: ids[0], issuerId: issuer.id, reason: "keyCompromise", state: "pending", attempts: 0, toldAt: null }]);
    await revokeAll(0, 4);
    await revokeAll(MINUTE);
    const { pem } = (await organization.member("GET", `/certificates/${ids[0]}`)).body;
    expect(asked).toEqual([{ pem, reason: "keyCompromise" }]);
    expect(await list("?state=told")).toMatchObject([{ state: "told", toldAt: expect.any(String), nextAttemptAt: null, failure: null }]);
    expect(await list("?state=failing")).toEqual([]);
    expect(await actions()).toEqual(["certificate.revoked-at-ca"]);
  });

  test("is not asked for a hold, which ends as ever; then it is", async () => {
    const { asked, revoke, reinstate, list } = await withCertificates();
    await revoke("certificateHold");
    await revokeAll();
    expect([asked, await list()]).toEqual([[], []]);
    expect(await reinstate()).toMatchObject({ status: 200, body: { status: "active" } });
    await revoke();
    await revokeAll();
    expect(asked).toMatchObject([{ reason: "unspecified" }]);
  });

  test("is not there of what was imported or is of an authority of the organization's own", async () => {
    const { organization, order, get } = await newSetting();
    const [imported] = await importInto(organization, certificate().pem);
    const { id: authorityId } = await newAuthority(organization, rootBody);
    const { body: issuer } = await organization.admin("POST", "/issuers", { body: authority({ config: { authorityId } }) });
    conduct(issuer.id, { take: (issuing) => issued(issuing) });
    const { id } = await order({ issuerId: issuer.id });
    await work();
    for (const each of [imported, (await get(id)).certificateId]) await organization.admin("POST", `/certificates/${each}/revoke`, { body: {} });
    expect((await organization.member("GET", "/revocations")).body.items).toEqual([]);
  });
});

describe("a CA that cannot be asked", () => {
  const AWAY = "The CA could not be asked.";
  const isAway = (): Revoked => ({ to: "retry", at: new Date(), reason: AWAY, ofIssuer: true });

  async function withAdmin(count?: number) {
    const setting = await withCertificates(count);
    const admin = await setting.organization.join("ORG_ADMIN");
    const received = async () => {
      await dispatch();
      const { items } = (await admin.call("GET", "/users/me/notifications/inbox?limit=100")).body;
      const ours = items.filter(({ kind }: { kind: string }) => kind === "certificate_revocation_failed");
      return ours.map(({ state, message }: { state: string; message: string }) => [state, message]);
    };
    return { ...setting, received };
  }

  test("is asked again, later each time; members are notified once that has lasted, and it is over once the CA has revoked", async () => {
    const { ids, asked, ca, revoke, list, received, actions } = await withAdmin();
    ca.answer = isAway;
    await revoke("superseded");
    await revokeAll();
    const [first] = await list("?state=failing");
    expect(first).toMatchObject({ certificateId: ids[0], failure: AWAY, attempts: 1 });
    expect(Date.parse(first.nextAttemptAt) - Date.now()).toBeWithin(25_000, 45_000);
    await revokeAll(20_000);
    expect(asked).toHaveLength(1);
    await revokeAll(MINUTE);
    expect(asked).toHaveLength(2);
    expect(await received()).toEqual([]);
    await revokeAll(20 * MINUTE);
    expect(await received()).toEqual([["open", expect.stringContaining(AWAY)]]);
    ca.answer = () => ({ to: "revoked" });
    await revokeAll(60 * MINUTE);
    expect(await list()).toMatchObject([{ state: "told", failure: null, attempts: 0 }]);
    expect(await received()).toEqual([["cleared", expect.any(String)]]);
    expect(await actions()).toEqual(["certificate.revocation-failed", "certificate.revoked-at-ca"]);
  });

  test("holds up its other revocations unasked, and those of no other issuer", async () => {
    const [away, other] = [await withCertificates(3), await withCertificates()];
    away.ca.answer = isAway;
    for (const id of away.ids) await away.revoke("superseded", id);
    await other.revoke();
    await revokeAll();
    expect(away.asked).toHaveLength(1);
    expect(await away.list("?state=failing")).toHaveLength(3);
    expect(await other.list()).toMatchObject([{ state: "told" }]);
  });

  test("that refuses is an event at once, and asked a day later, or when the issuer was changed", async () => {
    const { organization, issuer, asked, ca, revoke, list, received } = await withAdmin();
    ca.answer = () => ({ to: "failed", reason: "The CA does not authorize this." });
    await revoke();
    await revokeAll();
    expect(await received()).toEqual([["open", expect.stringContaining("The CA does not authorize this.")]]);
    const [{ nextAttemptAt }] = await list();
    expect(Date.parse(nextAttemptAt) - Date.now()).toBeGreaterThan(23 * 60 * MINUTE);
    await organization.admin("PATCH", `/issuers/${issuer.id}`, { body: { config: { contact: ["pki@certitude.example"] } } });
    await revokeAll();
    expect(asked).toHaveLength(2);
  });

  test("because the issuer was deleted is an event", async () => {
    const { organization, issuer, revoke, list, received } = await withAdmin();
    await organization.admin("DELETE", `/issuers/${issuer.id}`);
    await revoke();
    await revokeAll();
    expect(await list()).toMatchObject([{ state: "failing", failure: expect.stringContaining("The issuer was deleted") }]);
    expect(await received()).toHaveLength(1);
  });

  test("is asked no more once the certificate has expired", async () => {
    const { ca, asked, revoke, list, received } = await withAdmin();
    ca.answer = () => ({ to: "failed", reason: "The CA does not authorize this." });
    await revoke();
    await revokeAll();
    await revokeAll(91 * 86_400_000);
    expect(asked).toHaveLength(1);
    expect(await list()).toMatchObject([{ state: "expired", nextAttemptAt: null }]);
    expect(await received()).toEqual([["cleared", expect.any(String)]]);
  });
});
