import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTlsPair, readTlsSettings, timeFault } from "#crypto/tls-files";
import { inDays } from "../support/pki/certificates";
import { tlsFilesIn } from "../support/pki/tls-files";

const directory = mkdtempSync(join(tmpdir(), "certitude-tls-"));
afterAll(() => rmSync(directory, { recursive: true }));
const files = tlsFilesIn(directory);
const { TLS_CERT, TLS_KEY } = files.env;
beforeAll(() => void files.write("one"));

function faultsOf(cert: string | undefined, key: string | undefined) {
  const faults: string[] = [];
  const settings = readTlsSettings({ cert, key }, (fault) => faults.push(fault));
  return { settings, faults: faults.join("\n") };
}
const write = (name: string, text: string, mode = 0o600) => {
  writeFileSync(join(directory, name), text, { mode });
  return join(directory, name);
};

describe("TLS_CERT and TLS_KEY", () => {
  test("are both set, or none", () => {
    expect(faultsOf(undefined, undefined)).toEqual({ settings: undefined, faults: "" });
    expect(faultsOf(TLS_CERT, undefined).faults).toStartWith("TLS_KEY is required with TLS_CERT");
    expect(faultsOf(undefined, TLS_KEY).faults).toStartWith("TLS_CERT is required with TLS_KEY");
  });

  test("are read, with the chain after the certificate", () => {
    const chained = write("chain.pem", files.make("root").pem);
    const { pem, key } = files.make("leaf");
    const cert = write("leaf.pem", `${pem}\n${files.make("intermediate").pem}`);
    expect(readTlsPair({ certFile: cert, keyFile: write("leaf.key", key, 0o640) })).toMatchObject({ subject: expect.stringContaining("CN=leaf"), key });
    expect(faultsOf(chained, TLS_KEY).faults).toContain("is not the key of the first certificate in");
    expect(faultsOf(TLS_CERT, TLS_KEY)).toEqual({ settings: { certFile: TLS_CERT, keyFile: TLS_KEY }, faults: "" });
  });

  test.each([
    ["no certificate file", () => ["/nowhere/tls.pem", TLS_KEY], "TLS_CERT: /nowhere/tls.pem cannot be read: ENOENT"],
    ["no key file", () => [TLS_CERT, "/nowhere/tls.key"], "TLS_KEY: /nowhere/tls.key cannot be read: ENOENT"],
    ["a key in place of the certificate", () => [TLS_KEY, TLS_KEY], "holds no certificate in PEM (-----BEGIN CERTIFICATE-----)."],
    ["a certificate in place of the key", () => [TLS_CERT, write("a.pem", files.make("a").pem)], "holds no private key in PEM: "],
    [
      "a certificate that is cut off",
      () => [write("cut.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"), TLS_KEY],
      "TLS_CERT: certificate 1 in ",
    ],
    [
      "a key with a passphrase",
      () => [TLS_CERT, write("closed.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n")],
      "has a passphrase. openssl pkey writes it without one.",
    ],
    ["another certificate's key", () => [TLS_CERT, write("other.key", files.make("other").key)], "is not the key of the first certificate in"],
  ])("a sentence for %s", (_, given, sentence) => {
    const [cert, key] = given();
    expect(faultsOf(cert, key)).toEqual({ settings: undefined, faults: expect.stringContaining(sentence) });
  });

  test("a sentence for a key that every user of the machine can read or write", () => {
    for (const mode of [0o644, 0o602]) {
      const key = write("open.key", files.make("open").key);
      chmodSync(key, mode);
      expect(faultsOf(TLS_CERT, key).faults).toBe(`TLS_KEY: ${key} is open to every user of this machine (mode ${mode.toString(8)}). chmod o= closes it.`);
    }
  });

  test("what has expired, or is not valid yet, is said in words", () => {
    const [past, soon, now] = [inDays(-1), inDays(1), new Date()];
    expect(timeFault({ notBefore: inDays(-9), notAfter: past }, now)).toBe(`has expired on ${past.toISOString()}`);
    expect(timeFault({ notBefore: soon, notAfter: inDays(9) }, now)).toBe(`is not valid before ${soon.toISOString()}`);
    expect(timeFault({ notBefore: past, notAfter: soon }, now)).toBeUndefined();
  });
});
