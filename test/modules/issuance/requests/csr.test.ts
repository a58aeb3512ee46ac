import { describe, expect, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import { createKeyring } from "#crypto/keyring";
import { createKeyMaker } from "#limits/key-maker";
import { readNames } from "#modules/issuance/issuing/rules/names";
import { readCsr } from "#modules/issuance/requests/rules/csr";
import { openKey, requestOf } from "#modules/issuance/requests/services/keys";
import { KEYS, newCsr, openssl } from "../../../support/pki/csr";

function namesOf(...given: string[]) {
  const read = readNames(given, "names");
  if ("invalid" in read) throw new Error(read.invalid);
  return read.names;
}
const ASKED = namesOf("www.example.org");
const toPem = (der: Uint8Array) => `-----BEGIN CERTIFICATE REQUEST-----\n${Buffer.from(der).toString("base64")}\n-----END CERTIFICATE REQUEST-----\n`;
const toDer = (pem: string) => Buffer.from(pem.replace(/-----[^-]+-----|\s/g, ""), "base64");

describe("readCsr", () => {
  test.each(["ecdsa-p256", "ecdsa-p384", "ecdsa-p521", "ed25519", "rsa-2048"])("takes a key of %s", async (algorithm) => {
    const { csrPem } = await newCsr({ key: KEYS[algorithm] });
    expect(readCsr(csrPem, ASKED)).toMatchObject({ algorithm, names: ASKED });
  });

  test.each([
    ["secp256k1", "has a public key that cannot be read"],
    ["p-224", "has a key that is on the curve secp224r1: P-256, P-384 and P-521 are accepted"],
    ["rsa-1024", "has a key that has 1024 bits: RSA keys of 2048 to 8192 bits are accepted"],
    ["rsa-2048-e3", "has a key that has the public exponent 3, which must be odd, at least 65537 and below 2^64"],
  ])("refuses a key of %s", async (algorithm, fault) => {
    const { csrPem } = await newCsr({ key: KEYS[algorithm] });
    expect(readCsr(csrPem, ASKED)).toEqual({ fault });
  });

  test("takes names in any order, in Unicode, and the common name as one of them", async () => {
    const { csrPem } = await newCsr({ names: "IP:192.0.2.1,IP:2001:db8::1,DNS:WWW.example.org,DNS:xn--bcher-kva.example", subject: "/CN=www.example.org" });
    expect(readCsr(csrPem, namesOf("bücher.example", "www.example.org", "2001:db8::1", "192.0.2.1"))).toMatchObject({ algorithm: "ecdsa-p256" });
    const { csrPem: bare } = await newCsr({ names: "", subject: "/CN=www.example.org" });
    expect(readCsr(bare, ASKED)).toMatchObject({ names: ASKED });
  });

  test.each([
    [{ names: "DNS:www.example.org,DNS:other.example.org" }, "has the name other.example.org, which was not asked for"],
    [{ names: "DNS:other.example.org" }, "lacks the name www.example.org"],
    [{ subject: "/CN=other.example.org" }, "has the name other.example.org, which was not asked for"],
    [{ subject: "/CN=My Server" }, 'asks for the name "My Server", which must be a DNS name or an IP address'],
    [{ names: "DNS:www.example.org,email:a@example.org" }, "asks for names that are neither DNS names nor addresses"],
    [{ names: "", subject: "/O=Example" }, "lacks the name www.example.org"],
    [{ more: ["-addext", "basicConstraints=critical,CA:TRUE"] }, "asks for the certificate of an authority"],
    [{ more: ["-sha1"] }, /^is signed with 1\.2\.840\.10045\.4\.1: /],
  ])("refuses %j", async (wish, fault) => {
    const { csrPem } = await newCsr(wish);
    expect(readCsr(csrPem, ASKED)).toEqual({ fault: typeof fault === "string" ? fault : expect.stringMatching(fault) });
  });

  test("refuses a signature of another key, and one that was changed", async () => {
    const { csrPem } = await newCsr();
    const der = toDer(csrPem);
    der.writeUInt8((der.at(-1) ?? 0) ^ 1, der.length - 1);
    expect(readCsr(toPem(der), ASKED)).toEqual({ fault: "is not signed by the key that it holds" });
  });

  test.each(["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----"])("refuses %j", (pem) => {
    expect(readCsr(pem, ASKED)).toEqual({ fault: "must be one block -----BEGIN CERTIFICATE REQUEST----- in PEM" });
  });

  test("refuses what is cut off at any byte", async () => {
    const der = toDer((await newCsr()).csrPem);
    for (let length = 0; length < der.length; length += 7) expect(readCsr(toPem(der.subarray(0, length)), ASKED)).toMatchObject({ fault: expect.any(String) });
  });
});

describe("the request of a key that the server makes", () => {
  const keyring = createKeyring([Buffer.alloc(32, 1)]);
  const row = { organizationId: crypto.randomUUID(), id: crypto.randomUUID() };
  const { make } = createKeyMaker();
  const makeKey = async (algorithm: string) => {
    const key = await make(row.organizationId, algorithm, { signal: new AbortController().signal });
    return String(key.export({ type: "pkcs8", format: "pem" }));
  };

  test.each(["ecdsa-p256", "ecdsa-p384", "rsa-2048", "rsa-3072", "rsa-4096"])("is a CSR of %s that OpenSSL verifies", async (algorithm) => {
    const names = namesOf("www.example.org", "*.bücher.example", "192.0.2.1", "2001:db8::1");
    const { csr, sealedPrivateKey } = await requestOf(keyring, names, await makeKey(algorithm), row);
    expect(readCsr(toPem(csr), names)).toMatchObject({ algorithm, names });
    const text = Buffer.from(await openssl({ csr }, "req", "-verify", "-noout", "-text", "-inform", "DER", "-in", "csr", "-out", "out")).toString();
    expect(text).toContain("DNS:www.example.org, DNS:*.xn--bcher-kva.example, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1");
    const privateKey = openKey(keyring, sealedPrivateKey, row);
    const spki = Buffer.from(await openssl({ csr }, "req", "-pubkey", "-noout", "-inform", "DER", "-in", "csr", "-out", "out")).toString();
    expect(createPublicKey(privateKey).export({ type: "spki", format: "pem" })).toBe(spki);
    expect(() => openKey(keyring, sealedPrivateKey, { ...row, id: crypto.randomUUID() })).toThrow();
  });

  test("has 100 names", async () => {
    const names = namesOf(...Array.from({ length: 100 }, (_, index) => `${"a".repeat(60)}.${"b".repeat(60)}.${index}.example.org`));
    const { csr } = await requestOf(keyring, names, await makeKey("ecdsa-p256"), row);
    expect(readCsr(toPem(csr), names)).toMatchObject({ algorithm: "ecdsa-p256" });
  });
});
