import { describe, expect, test } from "bun:test";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { issuerContext } from "#modules/issuance/issuers/services/secrets";
import { certificate } from "../../../support/pki/certificates";
import { newAuthority, newHierarchy, rootBody } from "../../../support/pki/issuing";
import { newRequested } from "../../../support/pki/offline-root";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { acme, authority, PATH } from "./issuers";

const rsaKey = (bits: number) => generateKeyPairSync("rsa", { modulusLength: bits }).privateKey.export({ type: "pkcs8", format: "pem" });
const directoryUrl = "https://acme.example/directory";
const DNS = { type: "dns-01", provider: "rfc2136", server: "ns.example.org", keyName: "acme" };

describe("POST /organizations/{organizationId}/issuers", () => {
  test("403 for an ORG_MEMBER, whatever the body", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", PATH, { body: { nonsense: true } })).status).toBe(403);
  });

  test.each([
    [{}, "body.kind is required."],
    [acme({ kind: "step_ca" }), "body.kind must be one of acme, internal."],
    [acme({ name: " " }), "body.name must be text of 1 to 200 characters, without NUL."],
    [acme({ config: undefined }), "body.config is required."],
    [acme({ config: {} }), "body.config.directoryUrl is required for acme."],
    [acme({ config: { directoryUrl: "http://acme.example/directory" } }), "body.config.directoryUrl must start with https://."],
    [acme({ config: { directoryUrl: "https://127.0.0.1/directory" } }), "body.config.directoryUrl must not point to a private, local or reserved address."],
    [acme({ config: { directoryUrl, colour: 1 } }), "body.config.colour is not a known field of acme."],
    [acme({ config: { directoryUrl, contact: ["nobody"] } }), "body.config.contact must be an e-mail address."],
    [acme({ config: { directoryUrl, caBundlePem: "x" } }), "body.config.caBundlePem must begin with a certificate in PEM."],
    [acme({ config: { directoryUrl, challenges: [] } }), "body.config.challenges must be a list of 1 to 10 items."],
    [acme({ config: { directoryUrl, challenges: [{ type: "http-02" }] } }), /^body\.config\.challenges\[0\]\.type must be one of http-01/],
    [acme({ config: { directoryUrl, challenges: ["http-01"] } }), /^body\.config\.challenges\[0\]\.type must be one of http-01/],
    [acme({ config: { directoryUrl, challenges: [{ type: "http-01", port: 80 }] } }), "body.config.challenges[0].port is not a known field of http-01."],
    [acme({ config: { directoryUrl, challenges: [{ type: "dns-01" }] } }), /^body\.config\.challenges\[0\]\.provider must be one of rfc2136/],
    [acme({ config: { directoryUrl, challenges: [DNS] } }), "body.secrets.tsigSecret is required for rfc2136."],
    [acme({ config: { directoryUrl, challenges: [{ ...DNS, colour: 1 }] } }), "body.config.challenges[0].colour is not a known field of rfc2136."],
    [acme({ secrets: { nextAccountKeyPem: "x" } }), /^body\.secrets\.nextAccountKeyPem must be an unencrypted private key in PEM/],
    [acme({ config: { directoryUrl, externalAccountKeyId: "kid" } }), /belong together: send both or neither\.$/],
    [acme({ secrets: { externalAccountHmacKey: "a".repeat(32) } }), /belong together: send both or neither\.$/],
    [
      acme({ config: { directoryUrl, externalAccountKeyId: "kid" }, secrets: { externalAccountHmacKey: "no base64!" } }),
      /must be base64url, as the CA gave it\.$/,
    ],
    [acme({ secrets: { accountKeyPem: "x" } }), /^body\.secrets\.accountKeyPem must be an unencrypted private key in PEM/],
    [acme({ secrets: { password: "x" } }), "body.secrets.password is not a known field of acme."],
    [authority({ config: {} }), "body.config.authorityId is required for internal."],
    [authority({ config: { authorityId: "x" } }), "body.config.authorityId must be a UUID."],
    [authority({ config: { authorityId: crypto.randomUUID(), challenges: [] } }), "body.config.challenges is not a known field of internal."],
    [authority({ secrets: { accountKeyPem: "x" } }), "body.secrets.accountKeyPem is not a known field of internal."],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    const answer = await organization.admin("POST", PATH, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
  });

  test("400 for an account key of RSA with 1024 bits", async () => {
    const organization = await newOrganization();
    expect((await organization.admin("POST", PATH, { body: acme({ secrets: { accountKeyPem: rsaKey(1_024) } }) })).status).toBe(400);
    expect((await organization.admin("POST", PATH, { body: acme({ secrets: { accountKeyPem: rsaKey(2_048) } }) })).status).toBe(201);
  });

  test.each(["  Public CA ", "PUBLIC ca"])(
    "409 for a name that another issuer of the organization has, here %s; another organization's is no matter",
    async (name) => {
      const [mine, other] = [await newOrganization(), await newOrganization()];
      expect((await mine.admin("POST", PATH, { body: acme() })).status).toBe(201);
      expect(await mine.admin("POST", PATH, { body: acme({ name }) })).toMatchObject({
        status: 409,
        body: { message: 'body.name is taken: another issuer is named "Public CA".' },
      });
      expect((await other.admin("POST", PATH, { body: acme() })).status).toBe(201);
    },
  );

  test("201 with defaults in place, an account key of its own, an ETag and where it is", async () => {
    const organization = await newOrganization();
    const answer = await organization.admin("POST", PATH, { body: acme() });
    expect(answer).toMatchObject({
      status: 201,
      body: {
        organizationId: organization.id,
        kind: "acme",
        name: "Public CA",
        config: { directoryUrl, contact: [], termsOfServiceAgreed: false, challenges: [{ type: "http-01" }] },
        secretNames: ["accountKeyPem"],
        experimentalProviders: [],
        account: null,
        retryAt: null,
        lastTest: null,
        version: 1,
      },
    });
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}${PATH}/${answer.body.id}`);
    expect((await organization.member("GET", `${PATH}/${answer.body.id}`)).body).toEqual(answer.body);
    expect(answer.text).not.toContain("PRIVATE KEY");
  });

  test("201 says which of its providers are experimental", async () => {
    const organization = await newOrganization();
    const httpreq = { type: "dns-01", provider: "httpreq", apiBaseUrl: "https://dns.example.org" };
    const body = acme({ config: { directoryUrl, challenges: [httpreq, httpreq, DNS] }, secrets: { tsigSecret: btoa("x".repeat(32)) } });
    expect((await organization.admin("POST", PATH, { body })).body).toMatchObject({ experimentalProviders: ["httpreq"] });
  });

  test("201 seals the secrets: they open for this issuer alone, and no audit event has them", async () => {
    const organization = await newOrganization();
    const secrets = { externalAccountHmacKey: "s3cr3t".repeat(5) };
    const { body } = await organization.admin("POST", PATH, { body: acme({ config: { directoryUrl, externalAccountKeyId: "kid" }, secrets }) });
    const [row] = await world.sql`select sealed_secrets as sealed from issuers where organization_id = ${organization.id} and id = ${body.id}`;
    const own = { organizationId: organization.id, id: body.id };
    const open = (place: typeof own) => JSON.parse(world.config.keyring.unseal(row?.sealed, issuerContext(place)));
    expect(open(own)).toMatchObject(secrets);
    expect(createPrivateKey(open(own).accountKeyPem).asymmetricKeyDetails).toMatchObject({ namedCurve: "prime256v1" });
    expect(() => open({ ...own, id: crypto.randomUUID() })).toThrow();
    const { body: trail } = await organization.admin("GET", "/audit-events?action=issuer.created");
    expect(trail.items).toMatchObject([{ targetId: body.id, details: { kind: "acme", name: "Public CA" } }]);
    expect(JSON.stringify(trail)).not.toContain("s3cr3t");
  });

  test("201 takes a CA bundle, and an authority's with its profile", async () => {
    const organization = await newOrganization();
    const { pem } = certificate({ isCa: true });
    const answer = await organization.admin("POST", PATH, { body: acme({ config: { directoryUrl, caBundlePem: pem } }) });
    expect(answer.body.config.caBundlePem).toBe(pem.trim());
    const { id: authorityId } = await newAuthority(organization, rootBody);
    expect(await organization.admin("POST", PATH, { body: authority({ config: { authorityId } }) })).toMatchObject({
      status: 201,
      body: { kind: "internal", secretNames: [] },
    });
  });

  test("201 without a profile, whatever the authority's are called: its first one counts; 400 where it has none", async () => {
    const organization = await newOrganization();
    const profiles = [
      { name: "mutual", usage: "both" },
      { name: "web", usage: "server" },
    ];
    const { issuing, root } = await newHierarchy(organization, {}, { profiles });
    const create = (config: object) => organization.admin("POST", PATH, { body: authority({ name: crypto.randomUUID(), config }) });
    const { status, body } = await create({ authorityId: issuing.id });
    expect({ status, config: body.config }).toEqual({ status: 201, config: { authorityId: issuing.id } });
    expect((await organization.admin("POST", `${PATH}/${body.id}/test`)).body.outcome).toBe("ok");
    const changed = await organization.admin("PATCH", `${PATH}/${body.id}`, { body: { config: { profile: "web" } } });
    expect(changed.body.config.profile).toBe("web");
    expect((await organization.admin("PATCH", `${PATH}/${body.id}`, { body: { config: { profile: null } } })).body.config).toEqual({ authorityId: issuing.id });
    expect(await create({ authorityId: root.id })).toMatchObject({
      status: 400,
      body: { message: 'body.config.authorityId is of the authority "Root CA", which has no profiles and issues no certificates of hosts.' },
    });
  });

  test("400 for an authority that is another organization's, or has no such profile; 409 for one that is pending, disabled or revoked", async () => {
    const organization = await newOrganization();
    const { issuing } = await newHierarchy(organization);
    const pending = await newRequested(organization);
    const create = (config: object) => organization.admin("POST", PATH, { body: authority({ name: crypto.randomUUID(), config }) });
    const { id: foreign } = await newAuthority(await newOrganization(), rootBody);
    for (const authorityId of [foreign, crypto.randomUUID()])
      expect(await create({ authorityId })).toMatchObject({
        status: 400,
        body: { message: "body.config.authorityId is of no authority of this organization." },
      });
    expect(await create({ authorityId: issuing.id, profile: "mail" })).toMatchObject({
      status: 400,
      body: { message: 'body.config.profile is of no profile of the authority "Issuing CA", which has server, client, both.' },
    });
    expect(await create({ authorityId: pending.id })).toMatchObject({ status: 409, body: { message: expect.stringContaining("waits for its certificate.") } });
    const { body: issuer } = await create({ authorityId: issuing.id });
    const change = (config: object) => organization.admin("PATCH", `${PATH}/${issuer.id}`, { body: { config } });
    expect((await change({ authorityId: pending.id })).status).toBe(409);
    expect((await change({ authorityId: foreign })).status).toBe(400);
    await organization.admin("PATCH", `/authorities/${issuing.id}`, { body: { enabled: false } });
    expect(await create({ authorityId: issuing.id })).toMatchObject({ status: 409, body: { message: expect.stringContaining("is disabled.") } });
    await organization.admin("POST", `/certificates/${issuing.certificateId}/revoke`, { body: { reason: "keyCompromise" } });
    expect(await create({ authorityId: issuing.id })).toMatchObject({ status: 409, body: { message: expect.stringContaining("is revoked") } });
    expect((await organization.admin("PATCH", `${PATH}/${issuer.id}`, { body: { name: "Renamed" } })).status).toBe(200);
    expect(await organization.admin("DELETE", `/authorities/${issuing.id}`)).toMatchObject({
      status: 409,
      body: { message: 'The issuer "Renamed" has it issue. Delete that one first, or have it name another authority.' },
    });
    await organization.admin("DELETE", `${PATH}/${issuer.id}`);
    expect((await organization.admin("DELETE", `/authorities/${issuing.id}`)).status).toBe(204);
  });
});
