import { describe, expect, test } from "bun:test";
import { importInto } from "../support/pki/certificates";
import * as fixtures from "../support/pki/odd-certificates";
import { newOrganization } from "../support/server/people";

/** What the API says of a certificate that openssl made. */
async function read(pem: string) {
  const organization = await newOrganization();
  const [id] = await importInto(organization, pem);
  return (await organization.admin("GET", `/certificates/${id}`)).body;
}

describe("what a certificate says of itself", () => {
  test("RSA leaf: names, usages, alternative names, fingerprints", async () => {
    expect(await read(fixtures.rsaLeaf)).toMatchObject({
      commonName: "www.example.org",
      subject: "CN=www.example.org,OU=Ops\\, Research\\+Dev,O=Example Ltd,L=Zürich,C=CH",
      key: { algorithm: "RSA", size: 2048, curve: null },
      signatureAlgorithm: "sha256WithRSAEncryption",
      isCa: false,
      keyUsage: ["digitalSignature", "keyEncipherment"],
      extendedKeyUsage: ["serverAuth", "clientAuth"],
      subjectAlternativeNames: {
        dns: ["www.example.org", "*.example.org", "xn--bcher-kva.example"],
        ip: ["192.0.2.7", "2001:db8::7"],
        email: ["ops@example.org"],
        uri: ["https://example.org/a?b=c"],
      },
      ...fixtures.rsaLeafFacts,
    });
  });

  test("EC root: path length, dates beyond 2050", async () => {
    expect(await read(fixtures.ecRoot)).toMatchObject({
      key: { algorithm: "EC", size: 384, curve: "P-384" },
      signatureAlgorithm: "ecdsa-with-SHA384",
      isCa: true,
      pathLength: 2,
      selfSigned: true,
      keyUsage: ["keyCertSign", "cRLSign"],
      notAfter: "2099-12-31T23:59:59.000Z",
    });
  });

  test("dates before 1970 are kept", async () => {
    expect(await read(fixtures.beforeEpoch)).toMatchObject({ notBefore: "1951-02-03T04:05:06.000Z", notAfter: "1969-12-31T23:59:59.000Z", status: "expired" });
  });

  test("a name in UTF-8, BMPString and TeletexString is the same text", async () => {
    expect((await read(fixtures.bmpName)).commonName).toBe("Bücher €");
    expect((await read(fixtures.teletexName)).commonName).toBe("Bücher");
  });

  test("no common name: the first DNS name, else the organizational unit", async () => {
    expect((await read(fixtures.noCommonName)).commonName).toBe("only.alternative.example");
    expect((await read(fixtures.onlyUnit)).commonName).toBe("Class 2 Certification Authority");
  });

  test("a NUL in a name is shown, not swallowed", async () => {
    const { commonName, subjectAlternativeNames } = await read(fixtures.nulName);
    expect(commonName).toBe("good.example\\0.evil.example");
    expect(subjectAlternativeNames.dns).toEqual(["good.example\\0.evil.example"]);
  });

  test("a negative serial number is negative", async () => {
    expect((await read(fixtures.negativeSerial)).serialNumber).toBe("-7f");
  });

  test("Ed25519 and Ed448 keys", async () => {
    expect((await read(fixtures.ed25519)).key).toEqual({ algorithm: "Ed25519", size: 256, curve: null });
    expect((await read(fixtures.ed448)).key).toEqual({ algorithm: "Ed448", size: 456, curve: null });
  });
});
