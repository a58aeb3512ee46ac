import { afterAll, describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { certificate } from "../../../support/pki/certificates";
import { dns, issue, mustIssue, newAuthority } from "../../../support/pki/issuing";
import { newOpenssl } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";

const openssl = newOpenssl();
afterAll(openssl.remove);
const organization = await newOrganization();
const keyOf = ({ privateKey }: ReturnType<typeof certificate>) => privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const root = certificate({ commonName: "Their Root", isCa: true, days: 900 });
const issuing = certificate({ commonName: "Their Issuing CA", isCa: true, issuer: root, days: 300 });
const imported = (pem: string, privateKeyPem: string) => ({ kind: "imported", name: "Theirs", pem, privateKeyPem });
const send = (pem: string, privateKeyPem: string) => organization.admin("POST", "/authorities", { body: imported(pem, privateKeyPem) });

/** A certificate by openssl with these extensions, and its key. */
async function made(extensions: string[], ...options: string[]) {
  const added = extensions.flatMap((each) => ["-addext", each]);
  await openssl.run(
    "req",
    "-x509",
    "-nodes",
    "-newkey",
    "rsa:2048",
    "-keyout",
    "k.pem",
    "-out",
    "c.pem",
    "-subj",
    "/CN=Odd",
    "-days",
    "9",
    ...added,
    ...options,
  );
  return [openssl.text("c.pem"), openssl.text("k.pem")] as const;
}

describe("POST authorities, imported", () => {
  test.each<[string, () => Promise<readonly [string, string]> | readonly [string, string], string]>([
    ["no PEM", () => ["nothing", keyOf(root)], "body.pem holds no PEM block"],
    ["no certificate", () => ["-----BEGIN CERTIFICATE-----\nMAAB\n-----END CERTIFICATE-----", keyOf(root)], "block 0: it is not a certificate"],
    ["a key within", () => [`${root.pem}${keyOf(root)}`, keyOf(root)], "block 1: it is a PRIVATE KEY, not a CERTIFICATE."],
    ["another key", () => [root.pem, keyOf(issuing)], "its key is another one."],
    ["no key", () => [root.pem, "nothing"], "body.privateKeyPem must be an unencrypted private key"],
    [
      "a key of no CA",
      () => {
        const leaf = certificate({ issuer: root });
        return [leaf.pem, keyOf(leaf)];
      },
      "body.pem: it is no CA.",
    ],
    [
      "a CA that has ended",
      () => {
        const ended = certificate({ isCa: true, from: -20, days: -1 });
        return [ended.pem, keyOf(ended)];
      },
      "it has expired.",
    ],
    [
      "a CA of the future",
      () => {
        const early = certificate({ isCa: true, from: 5 });
        return [early.pem, keyOf(early)];
      },
      "it is not valid yet.",
    ],
    ["a chain that is none", () => [`${issuing.pem}${certificate({ isCa: true }).pem}`, keyOf(issuing)], "block 1 did not sign block 0."],
    ["a CA that may not sign CRLs", () => made(["keyUsage=critical,keyCertSign"]), "may not sign certificates and CRLs"],
    ["a weak key", async () => made(["keyUsage=critical,keyCertSign,cRLSign"], "-newkey", "rsa:1024"), "body.privateKeyPem must be an unencrypted private key"],
  ])("400 for %s", async (_, make, message) => {
    const answer = await send(...(await make()));
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("400 for one that the organization has revoked", async () => {
    const own = await newOrganization();
    const first = await newAuthority(own, imported(issuing.pem + root.pem, keyOf(issuing)));
    await own.admin("POST", `/certificates/${first.certificateId}/revoke`, { body: {} });
    const answer = await own.admin("POST", "/authorities", { body: imported(issuing.pem, keyOf(issuing)) });
    expect(answer.body.message).toBe("body.pem: it is revoked, or one above it.");
    expect((await own.admin("GET", `/authorities/${first.id}`)).body.status).toBe("revoked");
  });

  test("201 one that issues: openssl verifies the chain up to their root", async () => {
    const own = await newOrganization();
    const theirs = await newAuthority(own, imported(`${issuing.pem}${root.pem}`, keyOf(issuing)));
    expect(theirs).toMatchObject({
      kind: "issuing",
      status: "active",
      chainPem: "",
      keyAlgorithm: "ecdsa-p256",
      notAfter: new Date(new X509Certificate(issuing.pem).validTo).toISOString(),
    });
    const { chainPem, pem } = await mustIssue(openssl, own, theirs);
    openssl.write("root.pem", root.pem);
    openssl.write("leaf.pem", pem);
    openssl.write("chain.pem", chainPem);
    expect(await openssl.run("verify", "-CAfile", "root.pem", "-untrusted", "chain.pem", "leaf.pem")).toContain("OK");
  });

  test("201 its name constraints are read from its certificate", async () => {
    const [pem, key] = await made([
      "keyUsage=critical,keyCertSign,cRLSign",
      "nameConstraints=critical,permitted;DNS:.example.com,excluded;IP:10.0.0.0/255.0.0.0",
    ]);
    const theirs = await newAuthority(await newOrganization(), imported(pem, key));
    expect(theirs).toMatchObject({ kind: "root", keyAlgorithm: "rsa-2048" });
    expect(theirs.nameConstraints).toEqual([
      { permittedDomains: [".example.com"], excludedDomains: [], permittedAddresses: [], excludedAddresses: ["10.0.0.0/8"] },
    ]);
  });

  test("201 it refuses the names that openssl does not accept below its constraints, also where they begin with a dot", async () => {
    const own = await newOrganization();
    const [pem, key] = await made([
      "keyUsage=critical,keyCertSign,cRLSign",
      "nameConstraints=critical,permitted;DNS:.example.com,excluded;DNS:.old.example.com",
    ]);
    const profiles = [{ name: "any", usage: "server", allowsWildcards: true }];
    const theirs = await newAuthority(own, { ...imported(pem, key), profiles });
    openssl.write("ca.pem", pem);
    openssl.write("ca.key", key);
    const isAccepted = async (name: string) => {
      const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", "leaf.key"];
      await openssl.run(
        "req",
        "-x509",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-subj",
        "/",
        ...newKey,
        "-addext",
        `subjectAltName=critical,DNS:${name}`,
        "-out",
        "leaf.pem",
      );
      return (await openssl.ask("verify", "-CAfile", "ca.pem", "leaf.pem")).code === 0;
    };
    for (const name of ["www.example.com", "a.www.example.com", "example.com", "*.www.example.com", "notexample.com", "old.example.com", "a.old.example.com"]) {
      const issued = "chainPem" in (await issue(openssl, own, theirs, { names: dns(name) }));
      expect({ name, issued }).toEqual({ name, issued: await isAccepted(name) });
    }
    expect(await issue(openssl, own, theirs, { names: dns("*.example.com") })).toHaveProperty("invalid"); // old.example.com might be asked of it
  });
});
