import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { findStored } from "#modules/issuance/authorities/queries/authorities";
import { issueCertificate } from "#modules/issuance/authorities/services/issue";
import { dns, ip, issue, mustIssue, newAuthority, newHierarchy, rootBody } from "../../../support/pki/issuing";
import { newOpenssl, newRequest } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

setDefaultTimeout(300_000);
const openssl = newOpenssl();
afterAll(openssl.remove);
const organization = await newOrganization();
const profiles = [
  {
    name: "web",
    usage: "server",
    allowedDomains: ["example.com", "internal"],
    allowedAddresses: ["10.0.0.0/8"],
    maxLifetimeSeconds: 86_400,
    defaultLifetimeSeconds: 3_600,
  },
  { name: "any", usage: "both", allowsWildcards: true },
  { name: "short", usage: "server", defaultLifetimeSeconds: 60 },
];
const nameConstraints = { permittedDomains: ["example.com"], excludedDomains: ["secret.example.com"], excludedAddresses: ["192.168.0.0/16"] };
const { root, issuing } = await newHierarchy(organization, { nameConstraints }, { profiles, nameConstraints: { excludedDomains: ["old.example.com"] } });
const issued = (wish: Parameters<typeof issue>[3]) => issue(openssl, organization, issuing, wish);
const invalidOf = async (wish: Parameters<typeof issue>[3]) => ((await issued(wish)) as { invalid?: string }).invalid;

describe("an authority refuses", () => {
  test.each(["rsa-1024", "rsa-exponent-3", "secp256k1", "ed25519"])("a key of %s", async (algorithm) => {
    expect(await invalidOf({ algorithm })).toMatch(/^The (RSA )?key /);
  });

  test("a request that is none, that is too large, with another's signature, by SHA-1, with the key of the authority", async () => {
    const { csr } = await newRequest(openssl);
    const forged = Uint8Array.from(csr, (byte, index) => (index === csr.length - 1 ? byte ^ 1 : byte));
    const sha1 = await newRequest(openssl, "rsa-2048", "-sha1");
    expect(await invalidOf({ csr: new Uint8Array(3) })).toContain("The certificate request cannot be read");
    expect(await invalidOf({ csr: new Uint8Array(70_000) })).toBe("The certificate request is larger than 64 KiB.");
    expect(await invalidOf({ csr: forged })).toBe("The signature of the certificate request is not by its key.");
    expect(await invalidOf({ csr: sha1.csr })).toBe("The certificate request is signed with sha1WithRSAEncryption; it must be SHA-2 with RSA or ECDSA.");
  });

  test.each<[string, ReturnType<typeof dns>, string | null, string]>([
    ["no name", [], null, "A certificate has 1 to 100 names."],
    ["what is no domain", dns("a..example.com"), "any", "a..example.com is not a domain."],
    ["a domain outside of the profile", dns("www.example.org"), null, "www.example.org is in none of the domains that the profile allows."],
    ["a domain that only ends like one of the profile", dns("notexample.com"), null, "notexample.com is in none of the domains"],
    ["a domain of the profile outside of the constraints", dns("host.internal"), null, "host.internal is outside of the name constraints"],
    ["an excluded domain of the root", dns("a.secret.example.com"), "any", "a.secret.example.com is excluded by the name constraints"],
    ["an excluded domain of its own", dns("www.example.com", "old.example.com"), "any", "old.example.com is excluded by the name constraints"],
    ["a wildcard", dns("*.example.com"), null, "*.example.com is a wildcard, and the profile allows none."],
    ["a wildcard over an excluded domain", dns("*.example.com"), "any", "*.example.com is excluded by the name constraints"],
    ["an address outside of the profile", ip("172.16.0.1"), null, "172.16.0.1 is in none of the address ranges"],
    ["an excluded address", ip("192.168.1.1"), "any", "192.168.1.1 is excluded by the name constraints"],
    ["another profile", dns("www.example.com"), "mail", 'The authority "Issuing CA" has no profile "mail".'],
  ])("%s", async (_, names, profile, message) => {
    expect(await invalidOf({ names, profile })).toStartWith(message);
  });

  test("a lifetime over that of its profile, over its own, or in the past", async () => {
    const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000);
    expect(await invalidOf({ notAfter: inSeconds(90_000) })).toBe('The profile "web" allows at most 86400 seconds.');
    expect(await invalidOf({ notAfter: inSeconds(4_000 * 86_400) })).toStartWith('The certificate would outlive the authority "Issuing CA"');
    expect(await invalidOf({ notAfter: inSeconds(-9) })).toBe("The certificate would have ended already.");
  });

  test("while it is disabled, once it has ended, once it or the one above it is revoked; and the driver says so", async () => {
    const own = await newOrganization();
    const made = await newHierarchy(own);
    const ask = () => issue(openssl, own, made.issuing);
    const enable = (enabled: boolean) => own.admin("PATCH", `/authorities/${made.issuing.id}`, { body: { enabled } });
    await enable(false);
    expect(await ask()).toMatchObject({ invalid: 'The authority "Issuing CA" is disabled.' });
    await enable(true);
    expect(await ask()).toHaveProperty("chainPem");
    const late = startServer(world.config, world.database, () => new Date(Date.parse(made.issuing.notAfter) + 1_000));
    const wanted = { organizationId: own.id, authorityId: made.issuing.id, csr: new Uint8Array(), names: dns("a.example"), profile: null, requestId: null };
    expect(await issueCertificate(late.deps, wanted)).toEqual({ invalid: 'The authority "Issuing CA" has ended.' });
    await late.server.stop(true);
    await own.admin("POST", `/certificates/${made.root.certificateId}/revoke`, { body: {} });
    expect(await ask()).toMatchObject({ invalid: 'The authority "Issuing CA" is revoked, or one above it.' });
    expect((await own.admin("GET", `/authorities/${made.issuing.id}`)).body.status).toBe("revoked");
    expect(await issue(openssl, own, { id: crypto.randomUUID() })).toMatchObject({ invalid: "The authority is gone." });
  });

  test("what another organization asks", async () => {
    expect(await issue(openssl, await newOrganization(), issuing)).toMatchObject({ invalid: "The authority is gone." });
  });
});

describe("an authority issues", () => {
  test("what was asked, as a certificate of the organization, and never longer than it lives", async () => {
    const own = await newOrganization();
    const short = await newAuthority(own, { ...rootBody, lifetimeDays: 1 });
    const { certificateId, notAfter } = await mustIssue(openssl, own, short, {
      names: [...dns("www.example.com", "example.com"), ...ip("10.0.0.1", "2001:db8::1")],
    });
    expect(notAfter.toISOString()).toBe(short.notAfter);
    const stored = (await own.admin("GET", `/certificates/${certificateId}`)).body;
    expect(stored).toMatchObject({
      commonName: "www.example.com",
      issuerCertificateId: short.certificateId,
      hasPrivateKey: false,
      subjectAlternativeNames: { dns: ["www.example.com", "example.com"], ip: ["10.0.0.1", "2001:db8::1"] },
      extendedKeyUsage: ["serverAuth"],
    });
    const [event] = (await own.admin("GET", `/audit-events?action=certificate.issued`)).body.items;
    expect(event).toMatchObject({
      targetId: certificateId,
      actor: { type: "server" },
      details: { authorityId: short.id, profile: "server", serialNumber: stored.serialNumber },
    });
  });

  test("one that begins a minute ago, or a tenth of a short lifetime, so that most of it is left", async () => {
    for (const [profile, lifetime, backdated] of [
      ["web", 3_600, 60],
      ["short", 60, 6],
    ] as const) {
      const now = Date.now();
      const { pem } = await mustIssue(openssl, organization, issuing, { profile });
      const { validFrom, validTo } = new X509Certificate(pem);
      expect(Date.parse(validTo) - Date.parse(validFrom)).toBe(lifetime * 1_000);
      expect(now - Date.parse(validFrom)).toBeWithin((backdated - 30) * 1_000, (backdated + 1) * 1_000);
    }
  });

  test("one certificate for one order, however often and by however many it is asked", async () => {
    const requestId = crypto.randomUUID();
    const all = await Promise.all(Array.from({ length: 8 }, () => mustIssue(openssl, organization, issuing, { requestId })));
    expect(new Set(all.map((each) => each.chainPem)).size).toBe(1);
    expect([...(await world.sql`select from issued_certificates where request_id = ${requestId}`)].length).toBe(1);
    const other = await mustIssue(openssl, organization, issuing, { requestId: crypto.randomUUID() });
    expect(other.chainPem).not.toBe(all[0]?.chainPem ?? "");
  });

  test("with its own key alone: that of another row does not open", async () => {
    const other = await newAuthority(organization, rootBody);
    await world.sql`
      update authorities set sealed_private_key = (select sealed_private_key from authorities where id = ${root.id}) where id = ${other.id}`;
    expect(await issue(openssl, organization, other).catch((error: Error) => error.message)).toBe("Unsupported state or unable to authenticate data");
    await world.sql`delete from authority_publications where authority_id = ${other.id}`; // no job can sign for it
    expect((await findStored(world.sql, organization.id, issuing.id))?.sealedPrivateKey.length).toBeGreaterThan(100);
  });
});
