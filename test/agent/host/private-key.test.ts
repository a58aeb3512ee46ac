import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type KeyAlgorithm, makeCsr, makePrivateKey, signerOf } from "#agent/host/private-key";
import { algorithmOf, type Subject } from "#x509/signing-request";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-csr-"));
afterAll(() => rmSync(directory, { recursive: true }));

const SUBJECT: Subject = {
  commonName: "www.certitude.example",
  names: [
    { type: "dns", value: "www.certitude.example" },
    { type: "dns", value: "*.xn--bcher-kva.example" },
    { type: "ip", value: "192.0.2.1" },
    { type: "ip", value: "2001:db8::1" },
  ],
};

/** What openssl reads in a signing request, whose signature it has verified. */
async function read(csrPem: string) {
  const path = join(directory, crypto.randomUUID());
  writeFileSync(path, csrPem);
  const child = Bun.spawn(["openssl", "req", "-in", path, "-noout", "-verify", "-text"], { stdout: "pipe", stderr: "pipe" });
  const [text, faults, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
  expect({ code, faults: faults.trim() }).toEqual({ code: 0, faults: "Certificate request self-signature verify OK" });
  return text;
}

describe("a signing request, as openssl reads it", () => {
  test.each([
    ["ecdsa-p256", "ecdsa-with-SHA256"],
    ["ecdsa-p384", "ecdsa-with-SHA384"],
    ["rsa-2048", "sha256WithRSAEncryption"],
    ["rsa-3072", "sha256WithRSAEncryption"],
    ["rsa-4096", "sha256WithRSAEncryption"],
  ] satisfies [KeyAlgorithm, string][])("%s", async (algorithm, signature) => {
    const key = await makePrivateKey(algorithm);
    const signer = signerOf(key);
    expect(algorithmOf(signer.publicKey)).toBe(algorithm);
    const text = await read(await makeCsr(SUBJECT, signer));
    expect(text).toContain(`Signature Algorithm: ${signature}`);
    expect(text).toContain("Subject: CN = www.certitude.example");
    expect(text).toContain("DNS:www.certitude.example, DNS:*.xn--bcher-kva.example, IP Address:192.0.2.1, IP Address:2001:DB8:0:0:0:0:0:1");
  });

  test("an empty subject, and as many names as need a length of three bytes", async () => {
    const names = Array.from({ length: 400 }, (_, index) => ({ type: "dns" as const, value: `${"long-".repeat(36)}${index}.certitude.example` }));
    const text = await read(await makeCsr({ commonName: null, names }, signerOf(await makePrivateKey("ecdsa-p256"))));
    expect(text).toMatch(/Subject: *\n/);
    expect(text.match(/DNS:/g)).toHaveLength(400);
  });
});
