import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newCsr } from "../../../support/pki/csr";
import { importWithKey } from "../../../support/server/agents";
import { desired } from "../../../support/server/fleet";
import { newName, newSetting, work } from "../requests/requests";
import { deploy, renew, withRenewal } from "./renewals";

describe("POST /organizations/{organizationId}/certificates/{certificateId}/renew", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, certificateId } = await withRenewal();
    expect((await organization.member("POST", `/certificates/${certificateId}/renew`)).status).toBe(403);
  });

  test.each([{ issuerId: 5 }, { key: "server" }, { key: { location: "moon" } }, { names: ["x"] }, { reuseKey: 1 }])("400 for %j", async (body) => {
    const { ask } = await withRenewal();
    expect((await ask(body)).status).toBe(400);
  });

  test("404 for another organization's certificate and issuer", async () => {
    const [one, other] = [await withRenewal(), await withRenewal()];
    expect((await one.ask(undefined, other.certificateId)).status).toBe(404);
    for (const issuerId of [other.issuer.id, "x"]) expect((await one.ask({ issuerId })).status).toBe(404);
  });

  test("202 with the request, which renews it before its time; 409 while that is open, and afterwards", async () => {
    const { organization, certificateId, ask, read, requests } = await withRenewal();
    const { status, body, headers } = await ask();
    expect(status).toBe(202);
    expect(headers.get("location")).toBe(`/organizations/${organization.id}/certificate-requests/${body.id}`);
    expect(body).toMatchObject({ replaces: certificateId, autoRenew: true, status: "pending" });
    expect(await read()).toMatchObject({ state: "ordered", requestId: body.id });
    expect(await ask()).toMatchObject({ status: 409, body: { message: `The certificate request ${body.id} renews this certificate.` } });
    await work();
    await renew(organization);
    const { successorId, state } = await read();
    expect(state).toBe("renewed");
    expect(await ask()).toMatchObject({ status: 409, body: { message: `The certificate has a successor already: ${successorId}.` } });
    expect(await requests()).toHaveLength(1);
  });

  test("of several at once, one is taken", async () => {
    const { ask, requests } = await withRenewal();
    const statuses = (await Promise.all(Array.from({ length: 5 }, () => ask()))).map(({ status }) => status);
    expect(statuses.toSorted()).toEqual([202, 409, 409, 409, 409]);
    expect(await requests()).toHaveLength(1);
  });

  test("409 where no issuer looks after it; with issuerId it comes to one, with its names and its kind of key", async () => {
    const { organization, issuer, get } = await newSetting();
    const names = [newName(), newName()];
    const [id = ""] = await importInto(organization, certificate({ commonName: names[0] ?? "", dns: names }).pem);
    const path = `/certificates/${id}/renew`;
    expect(await organization.admin("POST", path)).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining("No issuer looks after this certificate") },
    });
    const { status, body } = await organization.admin("POST", path, { body: { issuerId: issuer.id } });
    expect({ status, names: body.names, replaces: body.replaces, key: body.key }).toEqual({
      status: 202,
      names,
      replaces: id,
      key: { algorithm: "ecdsa-p256", location: "server" },
    });
    await work();
    await renew(organization);
    const { certificateId } = await get(body.id);
    const { items } = (await organization.member("GET", "/renewals")).body;
    expect(items).toMatchObject([{ certificateId, issuerId: issuer.id, state: "scheduled" }]);
  });

  test("409 for what is retired or an authority's", async () => {
    const { organization, ask, certificateId, issuer } = await withRenewal();
    await organization.admin("DELETE", `/certificates/${certificateId}`);
    expect(await ask()).toMatchObject({ status: 409, body: { message: "The certificate is retired." } });
    const [root = ""] = await importInto(organization, certificate({ isCa: true }).pem);
    expect((await ask({ issuerId: issuer.id }, root)).status).toBe(409);
  });

  test("a key that is stored here can be kept; by default it is new", async () => {
    const { organization, issuer, get } = await newSetting();
    const [kept, fresh] = [await importWithKey(organization), await importWithKey(organization)];
    const keyOf = async (id: string) => (await organization.member("GET", `/certificates/${id}`)).body.spkiSha256;
    const renewed = async (id: string, reuseKey: boolean) => {
      const { body } = await organization.admin("POST", `/certificates/${id}/renew`, { body: { issuerId: issuer.id, reuseKey } });
      await work();
      return keyOf((await get(body.id)).certificateId);
    };
    expect(await renewed(kept.id, true)).toBe(await keyOf(kept.id));
    expect(await renewed(fresh.id, false)).not.toBe(await keyOf(fresh.id));
  });

  test("a CSR is sent again, as its key is elsewhere", async () => {
    const name = newName();
    const { csrPem } = await newCsr({ names: `DNS:${name}` });
    const { ask, certificateOf, first } = await withRenewal({ names: [name], key: { location: "csr" }, csrPem });
    const { body } = await ask();
    await work();
    expect((await certificateOf(body.id)).spkiSha256).toBe((await certificateOf(first.id)).spkiSha256);
    expect((await ask()).status).toBe(409);
  });

  test("the key moves to the host where the certificate is; 409 where it is nowhere or in several places", async () => {
    const { organization, certificateId, ask } = await withRenewal();
    const body = { key: { location: "agent" } };
    expect(await ask(body)).toMatchObject({ status: 409, body: { message: expect.stringContaining("nowhere") } });
    const agent = await deploy(organization, certificateId);
    const { agentId, trustStoreType, config } = (await ask(body)).body.deployment ?? {};
    expect({ agentId, trustStoreType, config }).toMatchObject({ trustStoreType: "nginx_tls", config: { trustStorePath: "/etc/nginx/tls" } });
    expect(await desired(agent)).toHaveLength(1);
    const other = await withRenewal();
    for (const path of ["/a", "/b"]) await deploy(other.organization, other.certificateId, path);
    expect(await other.ask(body)).toMatchObject({ status: 409, body: { message: expect.stringContaining("in several places") } });
  });

  test("waits for the approval that the policy asks for", async () => {
    const { organization, ask } = await withRenewal();
    await organization.admin("PUT", "/issuance-policy", { body: { needsApproval: true } });
    expect((await ask()).body).toMatchObject({ approval: "awaited" });
  });
});

describe("a renewal that a person ordered", () => {
  /** An imported certificate, whose renewal an author has ordered and another admin is to approve. */
  async function awaiting() {
    const setting = await newSetting();
    const { organization, issuer } = setting;
    await organization.admin("PUT", "/issuance-policy", { body: { needsApproval: true } });
    const [author, other] = [await organization.join(), await organization.join()];
    const name = newName();
    const [certificateId = ""] = await importInto(organization, certificate({ commonName: name, dns: [name] }).pem);
    const as = (token: string) => (path: string, body?: object) => organization.admin("POST", path, { token, ...(body && { body }) });
    const renewAs = (token: string) => as(token)(`/certificates/${certificateId}/renew`, { issuerId: issuer.id });
    const { id, approval } = (await renewAs(author.token)).body;
    expect(approval).toBe("awaited");
    const find = async () => (await organization.member("GET", "/renewals?state=ended")).body.items;
    const ordered = async () => (await organization.member("GET", "/certificate-requests")).body.items.map((each: { id: string }) => each.id);
    /** Lets the jobs do all that they would in so many days. */
    const pass = async (days: number) => {
      for (const day of [0, 0.1, days]) {
        await renew(organization, day);
        await work();
      }
    };
    return { ...setting, author, other, as, renewAs, certificateId, id: id as string, find, ordered, pass };
  }

  test.each(["cancel", "refuse"])("is never ordered without the approval that it waited for: after %s it has ended", async (action) => {
    const { author, other, as, id, certificateId, find, ordered, pass } = await awaiting();
    const ended =
      action === "cancel"
        ? await as(author.token)(`/certificate-requests/${id}/cancel`)
        : await as(other.token)(`/certificate-requests/${id}/refuse`, { reason: "No." });
    expect(ended.body.status).toBe("cancelled");
    await pass(80);
    expect(await ordered()).toEqual([id]);
    expect(await find()).toMatchObject([{ certificateId, requestId: id, reason: "The certificate request that was to renew it was cancelled or refused." }]);
  });

  test("stays so where its certificate is revoked, which has others renewed at once", async () => {
    const { organization, author, as, id, certificateId, find, ordered, pass } = await awaiting();
    await as(author.token)(`/certificate-requests/${id}/cancel`);
    await pass(1);
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: { reason: "superseded" } });
    await pass(2);
    expect([await ordered(), (await find()).length]).toEqual([[id], 1]);
  });

  test("begins again where it is ordered again, and waits for an approval again", async () => {
    const { author, other, as, renewAs, id, ordered, pass, get } = await awaiting();
    await as(author.token)(`/certificate-requests/${id}/cancel`);
    await pass(1);
    const again = (await renewAs(author.token)).body;
    expect(again).toMatchObject({ approval: "awaited" });
    await pass(2);
    expect((await get(again.id)).status).toBe("pending");
    expect((await as(other.token)(`/certificate-requests/${again.id}/approve`)).status).toBe(200);
    await work();
    expect((await get(again.id)).status).toBe("issued");
    expect(await ordered()).toHaveLength(2);
  });

  test("that was cancelled ends what its issuer would have renewed by itself", async () => {
    const { organization, ask, requests, read } = await withRenewal();
    const { id } = (await ask()).body;
    await organization.admin("POST", `/certificate-requests/${id}/cancel`);
    await renew(organization, 61);
    expect(await requests()).toHaveLength(1);
    expect(await read()).toMatchObject({ state: "ended", reason: "The certificate request that was to renew it was cancelled or refused." });
  });
});

describe("GET /organizations/{organizationId}/renewals", () => {
  test("pages what is due first, by state, issuer and moment", async () => {
    const { organization, order, issuer, list, certificateId, ask } = await withRenewal();
    for (let n = 0; n < 4; n++) await order({ renewAt: new Date(Date.now() + (n + 1) * 86_400_000).toISOString() });
    await work();
    await renew(organization);
    const all = await list("?limit=100");
    expect(all.map(({ renewAt }: { renewAt: string }) => renewAt)).toEqual(all.map(({ renewAt }: { renewAt: string }) => renewAt).toSorted());
    expect(all).toHaveLength(5);
    const paged: string[] = [];
    for (let cursor: string | null = null; ; ) {
      const { body } = await organization.member("GET", `/renewals?limit=2${cursor ? `&cursor=${cursor}` : ""}`);
      paged.push(...body.items.map((each: { certificateId: string }) => each.certificateId));
      cursor = body.nextCursor;
      if (cursor === null) break;
    }
    expect(paged).toEqual(all.map((each: { certificateId: string }) => each.certificateId));
    expect(await list(`?dueBefore=${new Date(Date.now() + 2.5 * 86_400_000).toISOString()}`)).toHaveLength(2);
    expect(await list(`?issuerId=${issuer.id}`)).toHaveLength(5);
    expect(await list(`?issuerId=${crypto.randomUUID()}`)).toEqual([]);
    await ask();
    expect(await list("?state=ordered")).toMatchObject([{ certificateId }]);
    expect((await organization.member("GET", "/renewals?state=lost")).status).toBe(400);
  });

  test("shows nothing of another organization", async () => {
    const [one, other] = [await withRenewal(), await withRenewal()];
    expect(await one.list()).toHaveLength(1);
    expect((await one.list())[0].certificateId).not.toBe(other.certificateId);
  });
});
