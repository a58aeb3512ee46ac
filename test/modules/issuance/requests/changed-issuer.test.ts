import { describe, expect, test } from "bun:test";
import { createInternalDriver } from "#modules/issuance/authorities/services/driver";
import { keepCsr } from "#modules/issuance/requests/queries/csr";
import { issuing } from "#modules/issuance/requests/services/work";
import { newCsr } from "../../../support/pki/csr";
import { newAuthority, rootBody } from "../../../support/pki/issuing";
import { newAgent } from "../../../support/server/agents";
import { dispatch } from "../../../support/server/dispatching";
import { ISSUING, runShared } from "../../../support/server/shared-jobs";
import { world } from "../../../support/server/world";
import { renew } from "../renewals/renewals";
import { newName, PATH, withApprovals, work } from "./requests";

const ENDED = "The issuer, or the profile of its authority, has changed since it was approved. It waits for the approval of another admin.";
const ELSEWHERE = { config: { directoryUrl: "https://elsewhere.example/directory" } };

type Setting = Awaited<ReturnType<typeof withApprovals>>;

/** An order that another admin has approved. */
async function approved(setting: Setting, rest: object = {}) {
  const { id } = (await setting.asAuthor("POST", PATH, { ...setting.body(), ...rest })).body;
  expect((await setting.asOther("POST", `${PATH}/${id}/approve`)).body).toMatchObject({ approval: "given" });
  return id as string;
}

const change = async ({ asAuthor, issuer }: Setting, patch: object) => expect((await asAuthor("PATCH", `/issuers/${issuer.id}`, patch)).status).toBe(200);

/** An authority of ours, an issuer that names it, and the jobs as a server does them. */
async function withAuthority() {
  const setting = await withApprovals();
  const { organization } = setting;
  const profiles = [{ name: "server", usage: "server", maxLifetimeSeconds: 86_400 }];
  const authority = await newAuthority(organization, { ...rootBody, profiles, publicUrl: world.url });
  const { body: issuer } = await organization.admin("POST", "/issuers", {
    body: { kind: "internal", name: "Ours", config: { authorityId: authority.id } },
  });
  const widen = async () => {
    const body = { profiles: [{ name: "server", usage: "both", maxLifetimeSeconds: 60_000_000, defaultLifetimeSeconds: 60_000_000 }] };
    expect((await setting.asAuthor("PATCH", `/authorities/${authority.id}`, body)).status).toBe(200);
  };
  const workForReal = () => runShared(ISSUING, world.deps, undefined, (name) => issuing(world.deps, { isOwn: name === "issue-own-certificates" }));
  const body = () => ({ issuerId: issuer.id, names: [newName()], key: { location: "server" } });
  return { ...setting, issuer, authority, widen, workForReal, body };
}

describe("a request that was approved", () => {
  test("waits again where one admin has its issuer ask another directory, with a reason, an event and a notice; then another admin approves that", async () => {
    const setting = await withApprovals();
    const { organization, asAuthor, asOther, get } = setting;
    const admin = await organization.join("ORG_ADMIN");
    const id = await approved(setting);
    await change(setting, ELSEWHERE);
    await work();
    expect(await get(id)).toMatchObject({ status: "pending", approval: "awaited", approvedBy: null, reason: ENDED });
    const { items } = (await organization.admin("GET", "/audit-events?action=certificate-request.approval-ended")).body;
    expect(items).toMatchObject([{ targetId: id, actor: { type: "server" }, details: { reason: ENDED } }]);
    await dispatch();
    const inbox = (await admin.call("GET", "/users/me/notifications/inbox?limit=100")).body.items;
    expect(inbox.some(({ kind, state }: { kind: string; state: string }) => kind === "certificate_request_awaits_approval" && state === "open")).toBe(true);
    expect((await asAuthor("POST", `${PATH}/${id}/approve`)).status).toBe(403);
    const { body } = await asOther("POST", `${PATH}/${id}/approve`);
    expect(body).toMatchObject({ approval: "given", approvedBy: { type: "user" } });
    expect(body.approvedBy).not.toHaveProperty("terms");
    await work();
    expect((await get(id)).status).toBe("issued");
  });

  test("waits again where the profile of its authority was widened", async () => {
    const setting = await withAuthority();
    const id = await approved(setting);
    await setting.widen();
    await setting.workForReal();
    expect(await setting.get(id)).toMatchObject({ status: "pending", approval: "awaited", reason: ENDED });
    await setting.asOther("POST", `${PATH}/${id}/approve`);
    await setting.workForReal();
    expect((await setting.get(id)).status).toBe("issued");
  });

  test("waits again where its issuer names another authority", async () => {
    const setting = await withAuthority();
    const id = await approved(setting);
    const another = await newAuthority(setting.organization, { ...rootBody, name: "Another", publicUrl: world.url });
    await change(setting, { config: { authorityId: another.id } });
    await setting.workForReal();
    expect(await setting.get(id)).toMatchObject({ approval: "awaited", certificateId: null });
  });

  test("is issued where only the issuer's name or its contact was changed", async () => {
    const setting = await withApprovals();
    const id = await approved(setting);
    await change(setting, { name: "Renamed", config: { contact: ["pki@example.org"] } });
    await work();
    expect((await setting.get(id)).status).toBe("issued");
  });

  test("keeps the key that its host has made", async () => {
    const setting = await withApprovals();
    const { organization, asOther, get } = setting;
    const agent = await newAgent(organization);
    const deployment = { agentId: agent.id, applicationId: "shop", trustStoreType: "nginx_tls", config: { trustStorePath: "/etc/nginx/tls" } };
    const id = await approved(setting, { names: ["www.example.org"], key: { location: "agent" }, deployment });
    const scope = { ...organization.scope, actor: { type: "agent" as const, id: agent.id } };
    const { csrPem } = await newCsr();
    const keep = () => world.sql.begin((tx) => keepCsr(tx, world.deps.stamps, scope, { agentId: agent.id, requestId: id, csrPem }));
    expect(await keep()).toBe("done");
    await change(setting, ELSEWHERE);
    await work();
    expect((await get(id)).approval).toBe("awaited");
    expect((await agent.call("GET", "/agent/assignments")).body.keys).toMatchObject([{ requestId: id }]);
    expect(await keep()).toBe("done");
    await asOther("POST", `${PATH}/${id}/approve`);
    await work();
    expect((await get(id)).status).toBe("issued");
  });

  test("is not issued by a profile that changes in the same moment", async () => {
    const { organization, authority, issuer } = await withAuthority();
    const { csrPem } = await newCsr();
    const csr = Buffer.from(csrPem.replace(/-----[^-]+-----/g, ""), "base64");
    const order = {
      organizationId: organization.id,
      requestId: crypto.randomUUID(),
      issuerId: issuer.id,
      names: [{ type: "dns" as const, value: "www.example.org" }],
    };
    const given = { ...order, profile: null, csr, replaces: null, hostProof: null, approvedTerms: "of another profile", progress: undefined };
    const open = {
      organizationId: organization.id,
      id: issuer.id,
      kind: "internal",
      name: "Ours",
      config: { authorityId: authority.id },
      secrets: {},
      account: null,
    };
    expect(await createInternalDriver(world.deps).take(open, given, new AbortController().signal)).toMatchObject({
      to: "retry",
      reason: 'The profile "server" is not as it was approved.',
    });
  });

  test("is not served where its approval was taken out of the database", async () => {
    const setting = await withApprovals();
    const id = await approved(setting);
    await change(setting, ELSEWHERE);
    await world.sql`update certificate_requests set approved_by = approved_by - 'terms' where id = ${id}`;
    await work();
    expect(await setting.get(id)).toMatchObject({ status: "failed", certificateId: null });
  });
});

describe("a renewal of what was approved", () => {
  /** A certificate that was approved, and is due. */
  async function due() {
    const setting = await withApprovals();
    const id = await approved(setting);
    await work();
    expect((await setting.get(id)).status).toBe("issued");
    await renew(setting.organization);
    const pass = async (days = 89) => {
      await renew(setting.organization, days);
      await work();
    };
    const find = async () => (await setting.organization.member("GET", PATH)).body.items.find(({ replaces }: { replaces: string | null }) => replaces !== null);
    return { ...setting, pass, find };
  }

  test("is issued as before, approved by the same admin", async () => {
    const { pass, find, other } = await due();
    await pass();
    expect(await find()).toMatchObject({ status: "issued", approval: "given", approvedBy: { id: other.id } });
  });

  test("waits for an approval where one admin has changed the issuer since", async () => {
    const setting = await due();
    await change(setting, ELSEWHERE);
    await setting.pass();
    const waiting = await setting.find();
    expect(waiting).toMatchObject({ status: "pending", approval: "awaited", reason: ENDED });
    expect((await setting.asAuthor("POST", `${PATH}/${waiting.id}/approve`)).body.approval).toBe("awaited");
    await setting.asOther("POST", `${PATH}/${waiting.id}/approve`);
    await work();
    expect(await setting.find()).toMatchObject({ status: "issued", approval: "given" });
  });
});

describe("a request that waits for its approval", () => {
  test("has a new version once its issuer or authority was changed, so that none approves what was not looked at", async () => {
    const setting = await withAuthority();
    const { asAuthor, organization, other, get } = setting;
    const { id, version } = (await asAuthor("POST", PATH, setting.body())).body;
    const approve = (seen: number) => organization.admin("POST", `${PATH}/${id}/approve`, { token: other.token, headers: { "if-match": `"${seen}"` } });
    await setting.widen();
    expect((await approve(version)).status).toBe(412);
    const seen = await get(id);
    expect(seen.reason).toBe("The issuer, or the profiles of its authority, have changed since it was ordered. It waits for the approval of another admin.");
    const another = await newAuthority(organization, { ...rootBody, name: "Another", publicUrl: world.url });
    await change(setting, { config: { authorityId: another.id } });
    expect((await approve(seen.version)).status).toBe(412);
    expect((await approve((await get(id)).version)).status).toBe(200);
  });
});

test("POST /certificate-requests/{requestId}/approve and cancel 409 for a request that has ended, also once its issuer is gone", async () => {
  const setting = await withApprovals();
  const id = await approved(setting);
  await work();
  expect((await setting.asAuthor("DELETE", `/issuers/${setting.issuer.id}`)).status).toBe(204);
  expect((await setting.asOther("POST", `${PATH}/${id}/approve`)).status).toBe(409);
  expect((await setting.asAuthor("POST", `${PATH}/${id}/cancel`)).status).toBe(409);
});
