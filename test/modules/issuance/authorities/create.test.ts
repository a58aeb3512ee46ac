import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { issuingBody, newAuthority, newHierarchy, rootBody } from "../../../support/pki/issuing";
import { newOpenssl } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);
const openssl = newOpenssl();
afterAll(openssl.remove);
const organization = await newOrganization();
const create = (body: object) => organization.admin("POST", "/authorities", { body });
const { kind: _, ...root } = rootBody;

describe("POST authorities", () => {
  test.each<[string, object, string]>([
    ...["\u0001", "\u007f", "\u0085", "\u2028", "\u202e", "\ufdd0", "\ufffe", "\uffff", "\u{1fffe}", "\u{10ffff}"].flatMap((unfit) =>
      ["root", "requested"].map(
        (kind) =>
          [
            `a ${kind} authority with U+${unfit.codePointAt(0)?.toString(16)}`,
            { kind, name: "A", subject: { commonName: "A", organization: `A${unfit}B` } },
            `body.subject.organization has the character U+${unfit.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}, which the name of an authority must not have.`,
          ] as [string, object, string],
      ),
    ),
    [
      "an issuing CA with U+FFFE",
      { ...rootBody, issuing: { name: "B", subject: { commonName: "a\ufffeb" } } },
      "body.issuing.subject.commonName has the character U+FFFE, which the name of an authority must not have.",
    ],
    ["a root without a subject", { kind: "root", name: "A" }, "body.subject is required where body.kind is root."],
    ["an issuing CA without one above it", { ...rootBody, kind: "issuing" }, "body.parentId is required where body.kind is issuing."],
    ["an import without a key", { kind: "imported", name: "A", pem: "x" }, "body.privateKeyPem is required where body.kind is imported."],
    [
      "a subject for an import",
      { ...rootBody, kind: "imported", pem: "x", privateKeyPem: "x" },
      "body.subject is not for an authority whose body.kind is imported.",
    ],
    [
      "a lifetime for a request",
      { ...rootBody, kind: "requested", lifetimeDays: 9 },
      "body.lifetimeDays is not for an authority whose body.kind is requested.",
    ],
    ["an issuing CA without a subject", { ...rootBody, issuing: { name: "B" } }, "body.issuing.subject is required."],
    ["no place below the root", { ...rootBody, pathLength: 0, issuing: issuingBody }, "body.pathLength 0 leaves no place for body.issuing."],
    [
      "a path as long as the root's",
      { ...rootBody, pathLength: 1, issuing: { ...issuingBody, pathLength: 1 } },
      "body.issuing.pathLength must be less than that of the authority above it, which is 1.",
    ],
    [
      "an issuing CA that outlives its root",
      { ...rootBody, lifetimeDays: 10, issuing: { ...issuingBody, lifetimeDays: 11 } },
      "body.issuing.lifetimeDays is longer than the authority above it lives",
    ],
    [
      "a domain with a star",
      { ...rootBody, nameConstraints: { permittedDomains: ["*.example.com"] } },
      'body.nameConstraints.permittedDomains: "*.example.com" is not a domain',
    ],
    [
      "a range with an odd address",
      { ...rootBody, nameConstraints: { excludedAddresses: ["10.0.0.1/8"] } },
      'body.nameConstraints.excludedAddresses: "10.0.0.1/8" is not an address range',
    ],
    [
      "two profiles of one name",
      {
        ...rootBody,
        profiles: [
          { name: "a", usage: "server" },
          { name: "a", usage: "client" },
        ],
      },
      "body.profiles.1.name is the name of another profile.",
    ],
    [
      "a default over the maximum",
      { ...rootBody, profiles: [{ name: "a", usage: "server", defaultLifetimeSeconds: 99, maxLifetimeSeconds: 60 }] },
      "body.profiles.0.defaultLifetimeSeconds must not be more",
    ],
    ["a kind of key that is too weak", { ...rootBody, keyAlgorithm: "rsa-1024" }, "body.keyAlgorithm"],
  ])("400 for %s, and nothing is stored", async (_, body, message) => {
    const answer = await create(body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)]);
    expect((await organization.admin("GET", "/authorities")).body.items).toEqual([]);
    expect((await organization.admin("GET", "/certificates")).body.items).toEqual([]);
  });

  test("404 for an authority above it that is another organization's", async () => {
    const other = await newAuthority(await newOrganization(), rootBody);
    const answer = await create({ ...rootBody, kind: "issuing", parentId: other.id });
    expect([answer.status, answer.body.message]).toEqual([404, expect.stringContaining("body.parentId")]);
  });

  test("403 for a member", async () => {
    expect((await organization.member("POST", "/authorities", { body: rootBody })).status).toBe(403);
  });

  test.each(["ecdsa-p256", "ecdsa-p384", "rsa-2048", "rsa-3072", "rsa-4096"])(
    "201 a root and an issuing CA with keys of %s, which openssl accepts",
    async (keyAlgorithm) => {
      const made = await newHierarchy(await newOrganization(), { keyAlgorithm, pathLength: 1 }, { keyAlgorithm });
      openssl.write("root.pem", made.root.certificatePem);
      openssl.write("issuing.pem", made.issuing.certificatePem);
      expect(await openssl.run("verify", "-x509_strict", "-check_ss_sig", "-CAfile", "root.pem", "issuing.pem")).toContain("issuing.pem: OK");
      const text = await openssl.run("x509", "-in", "issuing.pem", "-noout", "-text");
      expect(text).toContain(keyAlgorithm.startsWith("rsa") ? `Public-Key: (${keyAlgorithm.slice(4)} bit)` : `NIST CURVE: P-${keyAlgorithm.slice(-3)}`);
      expect(text).toContain("CA:TRUE, pathlen:0");
      expect(text).toContain(`CA Issuers - URI:${made.root.certificateUrl}`);
      expect(text).toContain(`OCSP - URI:${made.root.ocspUrl}`);
      expect(text).toContain(`URI:${made.root.crlUrl}`);
      expect(made.root).toMatchObject({
        kind: "root",
        status: "active",
        keyAlgorithm,
        pathLength: 1,
        subject: "CN=Example Root CA,O=Example,C=DE",
        chainPem: "",
        profiles: [],
      });
      expect(made.issuing).toMatchObject({ kind: "issuing", status: "active", parentId: made.root.id, pathLength: 0, chainPem: "" });
      expect(made.issuing.profiles.map((each: { name: string }) => each.name)).toEqual(["server", "client", "both"]);
    },
  );

  test("201 an issuing CA below an authority that is there: with its chain, its constraints and no longer than that lives", async () => {
    const own = await newOrganization();
    const made = await newHierarchy(own, { pathLength: 2, lifetimeDays: 100, nameConstraints: { permittedDomains: ["example.com"] } }, { pathLength: 1 });
    const lowest = await newAuthority(own, {
      ...root,
      kind: "issuing",
      name: "Lowest",
      parentId: made.issuing.id,
      nameConstraints: { excludedDomains: ["secret.example.com"] },
    });
    expect(lowest).toMatchObject({
      kind: "issuing",
      parentId: made.issuing.id,
      pathLength: 0,
      notAfter: made.root.notAfter,
      chainPem: made.issuing.certificatePem,
    });
    expect(lowest.nameConstraints).toEqual([
      { permittedDomains: [], excludedDomains: ["secret.example.com"], permittedAddresses: [], excludedAddresses: [] },
      { permittedDomains: ["example.com"], excludedDomains: [], permittedAddresses: [], excludedAddresses: [] },
    ]);
    const answer = await own.admin("POST", "/authorities", { body: { ...root, kind: "issuing", parentId: lowest.id } });
    expect(answer.body.message).toContain("body.pathLength must be less than that of the authority above it, which is 0.");
  });

  test("201 its certificates are certificates of the organization, linked; the trail has them, and no answer holds a key", async () => {
    const own = await newOrganization();
    const made = await newHierarchy(own);
    const certificate = (await own.admin("GET", `/certificates/${made.issuing.certificateId}`)).body;
    expect(certificate).toMatchObject({ isCa: true, hasPrivateKey: false, issuerCertificateId: made.root.certificateId, pem: made.issuing.certificatePem });
    const actions = (await own.admin("GET", "/audit-events?limit=100")).body.items.map((each: { action: string }) => each.action);
    expect(actions.toSorted()).toEqual([
      "authority.created",
      "authority.created",
      "certificate.imported",
      "certificate.imported",
      "certificate.issued",
      "organization.created",
    ]);
    const [stored] = await world.sql<{ text: string }[]>`select json_agg(authorities)::text as text from authorities where organization_id = ${own.id}`;
    expect(`${JSON.stringify(made)}${stored?.text}`).not.toContain("PRIVATE KEY");
  });

  test("201 names of any script are kept as they are, and openssl reads them", async () => {
    const commonName = 'Zertifikate für "Müller, Söhne" #05 証明';
    const made = await newAuthority(await newOrganization(), { ...rootBody, subject: { commonName } });
    openssl.write("named.pem", made.certificatePem);
    expect(
      (await openssl.run("x509", "-in", "named.pem", "-noout", "-subject", "-nameopt", "oneline,utf8,-esc_msb,-esc_2253,-esc_ctrl,-esc_2254")).trimEnd(),
    ).toEndWith(`= ${commonName}`);
  });
});

describe("GET authorities", () => {
  test("200 newest first, in pages; one; 404 for another's", async () => {
    const own = await newOrganization();
    const made = await newHierarchy(own);
    const first = (await own.member("GET", "/authorities?limit=1")).body;
    expect(first.items.map((each: { id: string }) => each.id)).toEqual([made.issuing.id]);
    const second = (await own.member("GET", `/authorities?limit=1&cursor=${first.nextCursor}`)).body;
    expect([second.items.map((each: { id: string }) => each.id), second.nextCursor]).toEqual([[made.root.id], null]);
    expect((await own.member("GET", `/authorities/${made.root.id}`)).body.subject).toBe(made.root.subject);
    expect((await organization.member("GET", `/authorities/${made.root.id}`)).status).toBe(404);
  });
});
