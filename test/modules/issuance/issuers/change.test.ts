import { describe, expect, test } from "bun:test";
import { newAuthority, rootBody } from "../../../support/pki/issuing";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { acme, authority, PATH } from "./issuers";

const EAB = {
  config: { directoryUrl: "https://acme.example/directory", externalAccountKeyId: "kid" },
  secrets: { externalAccountHmacKey: "s3cr3t".repeat(5) },
};

async function setUp(given: object = acme()) {
  const organization = await newOrganization();
  const { body: issuer } = await organization.admin("POST", PATH, { body: given });
  const path = `${PATH}/${issuer.id}`;
  const change = (body: object, headers = {}) => organization.admin("PATCH", path, { body, headers });
  const sealed = async () => (await world.sql`select sealed_secrets as sealed from issuers where id = ${issuer.id}`)[0]?.sealed;
  return { organization, issuer, path, change, sealed };
}

describe("PATCH /organizations/{organizationId}/issuers/{issuerId}", () => {
  test("403 for an ORG_MEMBER, 404 for another organization's, 412 for a stale version", async () => {
    const { organization, path, change } = await setUp();
    const other = await newOrganization();
    expect((await organization.member("PATCH", path, { body: { name: "x" } })).status).toBe(403);
    expect((await other.admin("PATCH", path, { body: { name: "x" } })).status).toBe(404);
    expect((await change({ name: "x" }, { "if-match": '"7"' })).status).toBe(412);
  });

  test("409 for a name that is taken, and 200 for its own in another case", async () => {
    const { organization, change } = await setUp();
    await organization.admin("POST", PATH, { body: acme({ name: "Our authority" }) });
    const taken = { status: 409, body: { message: 'body.name is taken: another issuer is named "Our authority".' } };
    for (const name of ["Our authority", "our Authority"]) expect(await change({ name })).toMatchObject(taken);
    expect(await change({ name: "PUBLIC CA" })).toMatchObject({ status: 200, body: { name: "PUBLIC CA", version: 2 } });
  });

  test("400 for what the kind does not know", async () => {
    const { change } = await setUp();
    expect((await change({ config: { authorityId: crypto.randomUUID() } })).body.message).toBe("body.config.authorityId is not a known field of acme.");
    expect((await change({ config: { directoryUrl: null } })).body.message).toBe("body.config.directoryUrl is required for acme.");
  });

  test.each(["directoryUrl", "caBundlePem"])("400 where %s changes and a secret that goes there is not sent again", async (field) => {
    const { change, issuer } = await setUp(acme(EAB));
    const { pem } = (await import("../../../support/pki/certificates")).certificate({ isCa: true });
    const config = { [field]: field === "caBundlePem" ? pem : "https://other.example/directory" };
    expect(await change({ config })).toMatchObject({
      status: 400,
      body: {
        message: `body.secrets.externalAccountHmacKey must be sent again (or null, to remove it): a change of body.config.${field} decides where it is sent.`,
      },
    });
    expect(await change({ config, secrets: EAB.secrets })).toMatchObject({ status: 200, body: { id: issuer.id, version: 2 } });
  });

  test("200 with another account key and no account where the directory changes", async () => {
    const { organization, issuer, change, sealed } = await setUp();
    await world.sql`update issuers set account = '{"url": "https://acme.example/1", "thumbprint": "x"}' where organization_id = ${organization.id} and id = ${issuer.id}`;
    const before = await sealed();
    expect((await change({ name: "Another" })).body).toMatchObject({ name: "Another", account: { url: "https://acme.example/1", thumbprint: "x" } });
    expect(Buffer.compare(await sealed(), before)).toBe(0);
    const { body } = await change({ config: { directoryUrl: "https://other.example/directory" } });
    expect(body).toMatchObject({ account: null, secretNames: ["accountKeyPem"], version: 3 });
    expect(Buffer.compare(await sealed(), before)).not.toBe(0);
    const { body: trail } = await organization.admin("GET", "/audit-events?action=issuer.updated");
    expect(trail.items.map(({ details }: { details: object }) => details)).toEqual([{ changed: ["config", "secrets"] }, { changed: ["name"] }]);
  });

  test("200 keeps the version where nothing changes; a new config makes the last test void", async () => {
    const { organization, issuer, path, change } = await setUp();
    await organization.admin("POST", `${path}/test`);
    expect((await change({ name: issuer.name, config: { contact: [] } })).body).toMatchObject({ version: 1, lastTest: { outcome: "failed" } });
    expect((await change({ config: { contact: ["pki@certitude.example"] } })).body).toMatchObject({ version: 2, lastTest: null });
  });
});

describe("DELETE /organizations/{organizationId}/issuers/{issuerId}", () => {
  test("403, 404, 412; 204 and it is gone", async () => {
    const { organization, path } = await setUp();
    const other = await newOrganization();
    expect((await organization.member("DELETE", path)).status).toBe(403);
    expect((await other.admin("DELETE", path)).status).toBe(404);
    expect((await organization.admin("DELETE", path, { headers: { "if-match": '"7"' } })).status).toBe(412);
    expect((await organization.admin("DELETE", path)).status).toBe(204);
    expect((await organization.admin("GET", path)).status).toBe(404);
    expect((await organization.admin("GET", "/audit-events?action=issuer.deleted")).body.items).toHaveLength(1);
  });
});

describe("GET /organizations/{organizationId}/issuers", () => {
  test("200 newest first, page by page, by kind, and none of another organization", async () => {
    const { organization, issuer } = await setUp();
    const { id: authorityId } = await newAuthority(organization, rootBody);
    const { body: second } = await organization.admin("POST", PATH, { body: authority({ config: { authorityId } }) });
    const { body: page } = await organization.member("GET", `${PATH}?limit=1`);
    expect(page.items).toEqual([second]);
    expect((await organization.member("GET", `${PATH}?cursor=${page.nextCursor}`)).body).toEqual({ items: [issuer], nextCursor: null });
    expect((await organization.member("GET", `${PATH}?kind=acme`)).body.items).toEqual([issuer]);
    expect((await (await newOrganization()).member("GET", PATH)).body.items).toEqual([]);
  });
});
