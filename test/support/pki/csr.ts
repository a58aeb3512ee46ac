import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Minted } from "#demo/mint";

/** Runs OpenSSL in a directory with these files. Returns what it wrote to `out`. */
export async function openssl(files: Record<string, string | Uint8Array>, ...args: string[]) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-openssl-"));
  try {
    for (const [name, content] of Object.entries(files)) await Bun.write(join(directory, name), content);
    const child = Bun.spawn(["openssl", ...args], { cwd: directory, stdout: "ignore", stderr: "pipe" });
    const [status, text] = [await child.exited, await new Response(child.stderr).text()];
    if (status !== 0) throw new Error(`openssl ${args.join(" ")} ended with ${status}: ${text}`);
    return await Bun.file(join(directory, "out")).bytes();
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const keyOf = ({ privateKey }: Minted) => privateKey.export({ type: "pkcs8", format: "pem" }) as string;

/** The certificate that `issuer` makes of a CSR in DER, by OpenSSL: PEM, with the names that the CSR asks for. */
export async function signCsr(csr: Uint8Array, issuer: Minted, days = 90) {
  const files = { csr, "ca.pem": issuer.pem, "ca.key": keyOf(issuer) };
  const args = [
    "x509",
    "-req",
    "-inform",
    "DER",
    "-in",
    "csr",
    "-CA",
    "ca.pem",
    "-CAkey",
    "ca.key",
    "-days",
    `${days}`,
    "-copy_extensions",
    "copyall",
    "-out",
    "out",
  ];
  return Buffer.from(await openssl(files, ...args)).toString();
}

type Wish = { keyPem?: string; key?: string[] | undefined; names?: string; subject?: string; more?: string[] };
/** Options of `openssl genpkey` for keys of some kinds. */
export const KEYS: Record<string, string[]> = {
  "ecdsa-p256": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "ecdsa-p384": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"],
  "ecdsa-p521": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-521"],
  secp256k1: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
  "p-224": ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-224"],
  ed25519: ["-algorithm", "ED25519"],
  "rsa-1024": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"],
  "rsa-2048": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"],
  "rsa-2048-e3": ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:3"],
};

/** A CSR by OpenSSL in PEM, with its key: a new one, of P-256 for www.example.org unless said. */
export async function newCsr({ keyPem: given, key = KEYS["ecdsa-p256"] ?? [], names = "DNS:www.example.org", subject = "/", more = [] }: Wish = {}) {
  const keyPem = given ?? Buffer.from(await openssl({}, "genpkey", ...key, "-out", "out")).toString();
  const named = names === "" ? [] : ["-addext", `subjectAltName=${names}`];
  const csrPem = Buffer.from(await openssl({ key: keyPem }, "req", "-new", "-key", "key", "-subj", subject, ...named, ...more, "-out", "out")).toString();
  return { csrPem, keyPem };
}
