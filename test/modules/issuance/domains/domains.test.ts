import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { http01 } from "#modules/issuance/acme/services/solvers";
import { claimDomains } from "#modules/issuance/domains/queries";
import { claimOf, describeForeign, domainOf } from "#modules/issuance/domains/rules";
import { ownNames } from "#modules/issuance/domains/services/own-names";
import { leadsToRoot, trustedRoots } from "#modules/issuance/domains/services/roots";
import { findSharedDomain } from "#modules/issuance/domains/services/shared";
import { certificate } from "../../../support/pki/certificates";
import { call } from "../../../support/server/call";
import { newStaff } from "../../../support/server/knowledge";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

const DAY = 86_400_000;
const newDomain = () => `${crypto.randomUUID()}.example`;
const staff = await newStaff();
const put = (domain: string, organizationId: string | null) => staff.call("PUT", `/admin/domains/${domain}`, { body: { organizationId } });
/** Gives an organization the domain, as a certificate does that ends after so many days. */
const claim = ({ scope }: TestOrganization, domain: string, { provenByDns = [] as string[], days = 90 } = {}) =>
  world.sql.begin((tx) => claimDomains(tx, scope, { domains: [domain], provenByDns, until: new Date(Date.now() + days * DAY) }));
const holderOf = async (domain: string) => (await world.sql`select organization_id from domain_holders where domain = ${domain}`)[0]?.organization_id;
const newProof = (name: string) => ({
  name,
  type: "http-01" as const,
  challenge: 0,
  challengeUrl: "https://ca.example/challenge",
  token: crypto.randomUUID().replaceAll("-", "_"),
  thumbprint: "thumbprint-of-the-account",
  state: "planned" as const,
});
const x509 = ({ pem }: { pem: string }) => new X509Certificate(pem);
const signal = new AbortController().signal;
const present = ({ id }: { id: string }, proof: ReturnType<typeof newProof>, ownNames: string[] = []) =>
  http01(
    { sql: world.sql, stamps: world.deps.stamps, clock: () => new Date(), ownNames: () => ownNames },
    { organizationId: id, requestId: Bun.randomUUIDv7() },
  ).present(proof, signal);
const ask = ({ name, token }: ReturnType<typeof newProof>) => call("GET", `/.well-known/acme-challenge/${token}`, { headers: { "x-forwarded-host": name } });

test.each([
  ["www.example.com", "example.com"],
  ["*.api.example.co.uk", "example.co.uk"],
  ["me.github.io", "me.github.io"],
  ["db.corp.internal", "corp.internal"],
  ["localhost", "localhost"],
  ["192.0.2.1", "192.0.2.1"],
])("the domain of %s is %s", (name, domain) => {
  expect(domainOf(name)).toBe(domain);
});

test("a certificate proves the domains of its names until thirty days after its end, by DNS those that were proven themselves", () => {
  const names = [
    { type: "dns" as const, value: "*.example.com" },
    { type: "dns" as const, value: "a.example.org" },
    { type: "ip" as const, value: "192.0.2.1" },
  ];
  expect(claimOf(names, ["example.com", "a.example.org"], new Date("2030-01-01"))).toEqual({
    domains: ["example.com", "example.org"],
    provenByDns: ["example.com"],
    until: new Date("2030-01-31"),
  });
});

test("a chain leads to a root that has signed its last certificate, or is that; not to one of the same name", async () => {
  const root = certificate({ commonName: "A root", isCa: true });
  const other = certificate({ commonName: "A root", isCa: true });
  const leaf = certificate({ issuer: root });
  expect(await leadsToRoot(x509(leaf), [other.pem, root.pem])).toBe(true);
  expect(await leadsToRoot(x509(root), [root.pem])).toBe(true);
  expect(await leadsToRoot(x509(leaf), [other.pem])).toBe(false);
  expect(await leadsToRoot(x509(leaf), trustedRoots())).toBe(false);
});

describe("a domain", () => {
  test("is the first organization's that proves it, also of two at once, until its certificates have ended", async () => {
    const [one, other] = [await newOrganization(), await newOrganization()];
    const domain = newDomain();
    await Promise.all([claim(one, domain), claim(other, domain)]);
    const holder = await holderOf(domain);
    expect([one.id, other.id]).toContain(holder);
    const [winner, loser] = holder === one.id ? [one, other] : [other, one];
    await claim(loser, domain, { days: 400 });
    expect(await holderOf(domain)).toBe(winner.id);
    expect((await winner.admin("GET", "/audit-events?action=domain.claimed")).body.items).toMatchObject([{ targetId: domain, targetType: "domain" }]);
    await world.sql`update domain_holders set until = now() - interval '1 second' where domain = ${domain}`;
    await claim(loser, domain);
    expect(await holderOf(domain)).toBe(loser.id);
  });

  test("moves to who proves it itself over DNS, and both organizations' trails say so", async () => {
    const [squatter, owner] = [await newOrganization(), await newOrganization()];
    const domain = newDomain();
    await claim(squatter, domain);
    await claim(owner, domain, { provenByDns: [domain] });
    expect(await holderOf(domain)).toBe(owner.id);
    const { body } = await squatter.admin("GET", "/audit-events?action=domain.lost");
    expect(body.items).toMatchObject([{ targetId: domain }]);
    expect(JSON.stringify(body)).not.toContain(owner.id);
  });

  test("stays as staff has decided, whatever is proven", async () => {
    const [one, other] = [await newOrganization(), await newOrganization()];
    const domain = newDomain();
    expect((await put(domain, one.id)).body).toMatchObject({ domain, organizationId: one.id, until: null });
    await claim(other, domain, { provenByDns: [domain] });
    expect(await holderOf(domain)).toBe(one.id);
    await put(domain, other.id);
    expect((await one.admin("GET", "/audit-events?action=domain.lost")).body.items).toMatchObject([{ targetId: domain }]);
    expect((await other.admin("GET", "/audit-events?action=domain.decided")).body.items).toMatchObject([{ targetId: domain }]);
  });
});

describe("an answer to http-01, GET /.well-known/acme-challenge/{token}", () => {
  test("is not presented for a domain of another organization: 404, and the reason says what to do without naming that", async () => {
    const [owner, other] = [await newOrganization(), await newOrganization()];
    const domain = newDomain();
    const proof = newProof(`new.${domain}`);
    await claim(owner, domain);
    const words = describeForeign(proof.name, domain);
    expect(words).not.toContain(owner.id);
    expect(present(other, proof)).rejects.toThrow(words);
    expect((await ask(proof)).status).toBe(404);
    await present(owner, proof);
    expect((await ask(proof)).status).toBe(200);
    await put(domain, null);
    await present(other, newProof(`shared.${domain}`));
  });

  test("404 for what was presented before the domain came to another organization", async () => {
    const [owner, other] = [await newOrganization(), await newOrganization()];
    const domain = newDomain();
    const proof = newProof(domain);
    await present(other, proof);
    expect((await ask(proof)).status).toBe(200);
    await claim(owner, domain);
    expect((await ask(proof)).status).toBe(404);
  });
});

describe("an answer to http-01 for a name of the server itself, which leads to it for all who ask,", () => {
  const refused = "cannot be proven by http-01: it leads to this server itself, which several organizations share.";

  test("is not presented for an organization that staff has not named, whatever its certificates have claimed", async () => {
    const organization = await newOrganization();
    const domain = newDomain();
    const own = [`certs.${domain}`];
    for (const name of [`certs.${domain}`, domain, `other.${domain}`]) expect(present(organization, newProof(name), own)).rejects.toThrow(`${name} ${refused}`);
    await claim(organization, domain, { provenByDns: [domain] });
    expect(present(organization, newProof(`certs.${domain}`), own)).rejects.toThrow(refused);
    await put(domain, organization.id);
    for (const name of [`certs.${domain}`, domain, `other.${domain}`]) await present(organization, newProof(name), own);
    expect(present(await newOrganization(), newProof(`certs.${domain}`), own)).rejects.toThrow("another organization of this server has");
  });

  test("is not presented where staff lets any organization prove names of the domain: those are the others", async () => {
    const organization = await newOrganization();
    const domain = newDomain();
    await put(domain, null);
    await present(organization, newProof(`shop.${domain}`), [`certs.${domain}`, `*.${domain}`]);
    expect(present(organization, newProof(`certs.${domain}`), [`certs.${domain}`])).rejects.toThrow(refused);
  });

  test("is not presented for an address, until staff names the organization that has it", async () => {
    const organization = await newOrganization();
    for (const address of ["192.0.2.77", "2001:db8::77"]) {
      expect(present(organization, newProof(address))).rejects.toThrow(`${address} ${refused}`);
      expect((await put(address, organization.id)).body).toMatchObject({ domain: address, organizationId: organization.id });
      await present(organization, newProof(address));
      expect(present(await newOrganization(), newProof(address))).rejects.toThrow("another organization");
      await put(address, null);
      expect(present(organization, newProof(address))).rejects.toThrow(refused);
    }
  });

  test("404 for what was presented before the server had the name", async () => {
    const organization = await newOrganization();
    const proof = newProof(`certs.${newDomain()}`);
    await present(organization, proof);
    expect((await ask(proof)).status).toBe(200);
    const renamed = startServer({ ...world.config, publicUrl: `https://${proof.name}:8443/base` }, world.database);
    const askRenamed = () => call("GET", `/.well-known/acme-challenge/${proof.token}`, { headers: { "x-forwarded-host": proof.name }, url: renamed.url });
    expect((await askRenamed()).status).toBe(404);
    await put(proof.name.replace("certs.", ""), organization.id);
    expect((await askRenamed()).status).toBe(200);
    await renamed.server.stop(true);
  });

  test("is one for a name of PUBLIC_URL or of the certificate of TLS_CERT", () => {
    const leaf = certificate({ commonName: "old.example.com", dns: ["a.example.com", "*.Example.org"] });
    const directory = mkdtempSync(join(tmpdir(), "certitude-own-"));
    const tls = { certFile: join(directory, "cert.pem"), keyFile: join(directory, "key.pem") };
    writeFileSync(tls.certFile, leaf.pem);
    writeFileSync(tls.keyFile, leaf.privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
    expect(ownNames({ publicUrl: "https://CERTS.example.net:8443/base", tls })).toEqual([
      "certs.example.net",
      "old.example.com",
      "a.example.com",
      "*.example.org",
    ]);
    expect(ownNames({ publicUrl: "https://[2001:DB8:0::1]", tls: undefined })).toEqual(["2001:db8::1"]);
    writeFileSync(tls.certFile, "half of a file");
    expect(ownNames({ publicUrl: undefined, tls })).toEqual(["old.example.com", "a.example.com", "*.example.org"]);
    rmSync(directory, { recursive: true });
    expect(ownNames({ publicUrl: undefined, tls: undefined })).toEqual([]);
  });
});

describe("GET and PUT /admin/domains", () => {
  test("403 for an ORG_ADMIN who is no staff; 400 for what is no registered domain; 404 for an organization that is not there", async () => {
    const user = await (await newOrganization()).join();
    expect((await call("GET", "/admin/domains", { token: user.token, headers: { "x-user-id": user.id } })).status).toBe(403);
    expect(
      (await call("PUT", "/admin/domains/a.example", { token: user.token, headers: { "x-user-id": user.id }, body: { organizationId: null } })).status,
    ).toBe(403);
    expect((await put("www.certitude.example", null)).body.message).toBe("path.domain must be a registered domain: certitude.example.");
    expect((await put("a_b", null)).body.message).toBe("path.domain must be a DNS name or an IP address.");
    expect((await put("a.example", crypto.randomUUID())).status).toBe(404);
  });

  test("200 lists them in order, page by page, with an event in the platform's trail for each decision", async () => {
    const organization = await newOrganization();
    const [first = "", second = ""] = [newDomain(), newDomain()].toSorted();
    await claim(organization, first);
    expect((await put(second.toUpperCase(), null)).status).toBe(200);
    const cursor = Buffer.from(JSON.stringify([first.slice(0, -1)])).toString("base64url");
    const { body } = await staff.call("GET", `/admin/domains?limit=1&cursor=${cursor}`);
    expect(body).toMatchObject({ items: [{ domain: first, organizationId: organization.id, until: expect.any(String) }], nextCursor: expect.any(String) });
    const { body: trail } = await staff.call("GET", "/admin/audit-events?action=domain.decided&limit=1");
    expect(trail.items).toMatchObject([{ targetId: second, details: { organizationId: null } }]);
  });
});

test("a server that organizations share is warned of until staff names one for its domain", async () => {
  await Promise.all([newOrganization(), newOrganization()]);
  const domain = newDomain();
  const warning = () => findSharedDomain(world.sql, { publicUrl: `https://certs.${domain}`, tls: undefined });
  expect(await findSharedDomain(world.sql, { publicUrl: undefined, tls: undefined })).toContain("Set PUBLIC_URL.");
  expect(await warning()).toContain(`none is named for ${domain}`);
  await put(domain, null);
  expect(await warning()).toContain(domain);
  await put(domain, (await newOrganization()).id);
  expect(await warning()).toBeUndefined();
});
