import { describe, expect, test } from "bun:test";
import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { readNames } from "#modules/issuance/issuing/rules/names";
import { judgeChain } from "#modules/issuance/requests/rules/judge";
import { parseCertificate } from "#x509/facts";
import { readPem } from "#x509/pem";
import { certificate, chain } from "../../../support/pki/certificates";
import { newCsr, openssl, signCsr } from "../../../support/pki/csr";

const { root, intermediate } = chain();
const now = new Date();
const read = readNames(["www.example.org"], "names");
const names = "names" in read ? read.names : [];
const { csrPem, keyPem } = await newCsr();
const [block] = readPem(csrPem);
const csr = block && "bytes" in block ? block.bytes : new Uint8Array();
const privateKey = createPrivateKey(keyPem);
const parse = (pem: string) => readPem(pem).flatMap((each) => ("bytes" in each ? parseCertificate(each.bytes) : []));

const leaf = (wish = {}) => certificate({ issuer: intermediate, dns: ["www.example.org"], key: { privateKey }, ...wish }).pem;
const judge = (chainPem: string, known: string[] = []) =>
  judgeChain(chainPem, { csr, names, now }, async (hash) => known.flatMap(parse).filter(({ subjectHash }) => subjectHash === hash));

describe("judgeChain", () => {
  test.each([
    ["leaf and intermediate", leaf() + intermediate.pem],
    ["leaf, intermediate and root", leaf() + intermediate.pem + root.pem],
    ["leaf and root", leaf({ issuer: root }) + root.pem],
    ["a leaf that is valid in four minutes", leaf({ from: 4 / 1_440 }) + intermediate.pem],
    ["text around the blocks", `subject=x\n${leaf()}\nissuer=y\n${intermediate.pem}`],
  ])("takes %s", async (_, chainPem) => {
    expect(await judge(chainPem)).toMatchObject({ leaf: { facts: { subjectAlternativeNames: { dns: ["www.example.org"] } } } });
  });

  test("takes what OpenSSL issues for an address", async () => {
    const asked = readNames(["192.0.2.1", "2001:db8::1"], "names");
    const wish = await newCsr({ names: "IP:192.0.2.1,IP:2001:db8::1" });
    const [request] = readPem(wish.csrPem);
    const der = request && "bytes" in request ? request.bytes : new Uint8Array();
    const chainPem = (await signCsr(der, intermediate)) + intermediate.pem;
    const judged = await judgeChain(chainPem, { csr: der, names: "names" in asked ? asked.names : [], now }, async () => []);
    expect(judged).toHaveProperty("leaf");
  });

  test("takes a leaf alone only where a stored authority has signed it", async () => {
    const alone = { fault: "The certificate came without the intermediate that signed it." };
    expect(await judge(leaf())).toEqual(alone);
    expect(await judge(leaf(), [intermediate.pem])).toHaveProperty("leaf");
    expect(await judge(leaf(), [certificate({ commonName: "Test Issuing CA", isCa: true, issuer: root }).pem])).toEqual(alone);
  });

  const other = generateKeyPairSync("ec", { namedCurve: "P-256" });
  test.each([
    ["nothing", "", "The issuer answered no certificate."],
    ["HTML", "<html><body>Not found</body></html>", "The issuer answered no certificate."],
    ["a key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "Block 0 of the issuer's answer is not a certificate."],
    [
      "a block that is none",
      `${leaf()}-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n`,
      /^Block 1 of the issuer's answer is not a certificate: /,
    ],
    ["more than 128 KiB", `${leaf()}${" ".repeat(128 * 1024)}`, "The issuer answered a chain of more than 128 KiB."],
    ["eleven certificates", leaf() + intermediate.pem.repeat(10), "The issuer answered more than 10 certificates."],
    ["another key", leaf({ key: other }) + intermediate.pem, "The certificate has another key than was asked for."],
    ["an authority", leaf({ isCa: true }) + intermediate.pem, "The certificate is an authority's."],
    ["another name", leaf({ dns: ["other.example.org"] }) + intermediate.pem, "The certificate lacks the name www.example.org."],
    ["no name", leaf({ dns: [] }) + intermediate.pem, "The certificate lacks the name www.example.org."],
    [
      "one name more",
      leaf({ dns: ["www.example.org", "other.example.org"] }) + intermediate.pem,
      "The certificate has the name other.example.org, which was not asked for.",
    ],
    ["a leaf that has expired", leaf({ from: -3, days: -1 }) + intermediate.pem, /^The certificate expired on /],
    ["a leaf that is valid in six minutes", leaf({ from: 6 / 1_440 }) + intermediate.pem, /^The certificate is not valid before /],
    [
      "the root alone above",
      leaf() + root.pem,
      "Certificate 1 of the chain did not sign the one before it: the chain is not in order, or an intermediate is missing.",
    ],
    ["the wrong order", intermediate.pem + leaf(), "The certificate has another key than was asked for."],
    ["a leaf above", leaf() + leaf(), "Certificate 1 of the chain did not sign the one before it: the chain is not in order, or an intermediate is missing."],
    [
      "an authority of the same name with another key",
      leaf() + certificate({ commonName: "Test Issuing CA", isCa: true, issuer: root }).pem,
      "Certificate 1 of the chain did not sign the one before it: the chain is not in order, or an intermediate is missing.",
    ],
  ])("refuses %s", async (_, chainPem, fault) => {
    expect(await judge(chainPem)).toEqual({ fault: typeof fault === "string" ? fault : expect.stringMatching(fault) });
  });

  test("refuses an intermediate that has expired, or whose key is weak", async () => {
    const old = certificate({ commonName: "Old CA", isCa: true, issuer: root, from: -9, days: -1 });
    expect(await judge(leaf({ issuer: old }) + old.pem)).toEqual({ fault: expect.stringMatching(/^Certificate 1 of the chain expired on /) });
    const weak = generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey.export({ type: "pkcs8", format: "pem" }) as string;
    const made = await openssl({ key: weak }, "req", "-x509", "-new", "-key", "key", "-subj", "/CN=Weak CA", "-days", "30", "-out", "out");
    const authority = { pem: Buffer.from(made).toString(), privateKey: createPrivateKey(weak), name: Buffer.alloc(0) };
    expect(await judge((await signCsr(csr, authority)) + authority.pem)).toEqual({
      fault: "Certificate 1 of the chain has a key that has 1024 bits: RSA keys of 2048 to 8192 bits are accepted.",
    });
  });

  test("refuses a leaf that is signed with SHA-1", async () => {
    const files = { csr, "ca.pem": intermediate.pem, "ca.key": intermediate.privateKey.export({ type: "pkcs8", format: "pem" }) as string };
    const args = ["x509", "-req", "-sha1", "-inform", "DER", "-in", "csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-copy_extensions", "copyall", "-out", "out"];
    const made = Buffer.from(await openssl(files, ...args)).toString();
    expect(await judge(made + intermediate.pem)).toEqual({ fault: "The certificate is signed with ecdsa-with-SHA1." });
  });
});
