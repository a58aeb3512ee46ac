import { expect, setDefaultTimeout } from "bun:test";
import { X509Certificate } from "node:crypto";
import { makeEcdsaKey } from "#crypto/private-keys";
import { findStored } from "#modules/issuance/authorities/queries/authorities";
import { issueLeaf, newSerialNumber } from "#modules/issuance/authorities/services/certificates";
import { publicKeyOf } from "#modules/issuance/authorities/services/keys";
import { openSigner } from "#modules/issuance/authorities/services/signer";
import { needing } from "../../../support/needing";
import { type Issued, serveTls } from "../../../support/pki/authority";
import { dns, ip, mustIssue, newHierarchy } from "../../../support/pki/issuing";
import { keytool, newJava } from "../../../support/pki/java";
import { newDatabase } from "../../../support/pki/nss";
import { newOpenssl } from "../../../support/pki/openssl";
import { curlTrusts, runs } from "../../../support/pki/tls-clients";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const { afterAll, beforeAll, describe, test } = needing("certtool", "certutil", "curl", "java", "keytool");

setDefaultTimeout(300_000);
const openssl = newOpenssl();
let java: Awaited<ReturnType<typeof newJava>>;
beforeAll(async () => {
  java = await newJava();
});
afterAll(() => {
  openssl.remove();
  java.remove();
});

const organization = await newOrganization();
const nameConstraints = { permittedDomains: ["example.com", "localhost"], excludedDomains: ["secret.example.com"], permittedAddresses: ["127.0.0.0/8"] };

describe.each(["ecdsa-p256", "ecdsa-p384", "rsa-2048"])("a chain of %s with name constraints", (keyAlgorithm) => {
  async function made() {
    const { root, issuing } = await newHierarchy(organization, { keyAlgorithm, nameConstraints }, { keyAlgorithm, name: `Issuing ${keyAlgorithm}` });
    const names = [...dns("www.example.com", "localhost"), ...ip("127.0.0.1")];
    const { pem, privateKeyPem, chainPem } = await mustIssue(openssl, organization, issuing, { names, profile: "both" });
    openssl.write("root.pem", root.certificatePem);
    openssl.write("chain.pem", chainPem);
    openssl.write("leaf.pem", pem);
    const issued: Issued = { pem, privateKeyPem, chain: [issuing.certificatePem, root.certificatePem], fingerprint: "" };
    return { root, issuing, issued };
  }

  test("is good for openssl, as a server and as a client; GnuTLS; NSS; Java; curl", async () => {
    const { root, issuing, issued } = await made();
    for (const purpose of ["sslserver", "sslclient"])
      expect(
        await openssl.run(
          "verify",
          "-x509_strict",
          "-purpose",
          purpose,
          "-verify_hostname",
          "www.example.com",
          "-CAfile",
          "root.pem",
          "-untrusted",
          "chain.pem",
          "leaf.pem",
        ),
      ).toContain("OK");

    const certtool = await runs([
      "certtool",
      "--verify",
      "--verify-profile",
      "medium",
      "--verify-hostname",
      "www.example.com",
      "--load-ca-certificate",
      openssl.pathOf("root.pem"),
      "--infile",
      openssl.pathOf("chain.pem"),
    ]);
    expect([certtool.isGood, certtool.stdout]).toEqual([true, expect.stringContaining("The certificate is trusted.")]);

    const nss = await newDatabase(openssl.pathOf(`nss-${keyAlgorithm}`));
    await nss.add("root", "CT,,", root.certificatePem);
    await nss.add("issuing", ",,", issuing.certificatePem);
    await nss.add("leaf", ",,", issued.pem);
    for (const usage of ["V", "C"]) expect(await nss.certutil(["-V", "-n", "leaf", "-u", usage, "-e"])).toContain("certificate is valid");
    expect(await nss.certutil(["-V", "-n", "issuing", "-u", "L", "-e"])).toContain("certificate is valid");

    const server = await serveTls(issued);
    const store = { path: openssl.pathOf(`${keyAlgorithm}.p12`), password: "a password" };
    await keytool(store, "-importcert", ["-noprompt", "-alias", "root", "-storetype", "PKCS12"], root.certificatePem);
    expect(await java.trusts(server.url, store)).toBe(true);
    expect(await curlTrusts(server.url, {}, "--cacert", openssl.pathOf("root.pem"))).toBe(true);
    await server.stop();
  });

  test("is refused by openssl and GnuTLS for a name that the constraints exclude, which only its key itself could sign", async () => {
    const { issuing } = await made();
    const authority = await findStored(world.sql, organization.id, issuing.id);
    if (!authority) throw new Error("it is gone");
    const signer = openSigner(world.config.keyring, authority);
    const publicKey = publicKeyOf(makeEcdsaKey("ecdsa-p256"));
    const validity = { notBefore: new Date(Date.now() - 60_000), notAfter: new Date(Date.now() + 600_000) };
    for (const [names, fault] of [
      [dns("www.example.org"), "permitted subtree violation"],
      [dns("www.secret.example.com"), "excluded subtree violation"],
      [ip("10.0.0.1"), "permitted subtree violation"],
    ] as const) {
      const der = await issueLeaf(signer, { publicKey, isRsa: false, names, usage: "server", serialNumber: newSerialNumber(), ...validity });
      const pem = new X509Certificate(der).toString();
      openssl.write("bad.pem", pem);
      openssl.write("bad-chain.pem", `${pem}${issuing.certificatePem}`);
      const { code, text } = await openssl.ask("verify", "-CAfile", "root.pem", "-untrusted", "chain.pem", "bad.pem");
      expect([code, text]).toEqual([2, expect.stringContaining(fault)]);
      const certtool = await runs(["certtool", "--verify", "--load-ca-certificate", openssl.pathOf("root.pem"), "--infile", openssl.pathOf("bad-chain.pem")]);
      expect([certtool.isGood, certtool.stdout]).toEqual([false, expect.stringContaining("violates the signer's constraints")]);
    }
  });
});
