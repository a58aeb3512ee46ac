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
