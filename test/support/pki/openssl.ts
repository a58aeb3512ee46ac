import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** openssl in a directory of its own, which goes with the tests. */
export function newOpenssl() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-openssl-"));
  const pathOf = (name: string) => join(directory, name);

  /** Whatever it answers. */
  async function ask(...args: string[]) {
    const child = Bun.spawn(["openssl", ...args], { cwd: directory, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
    const [stdout, stderr, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited]);
    return { code, text: stdout + stderr };
  }

  /** Returns its output; it must succeed. */
  async function run(...args: string[]) {
    const { code, text } = await ask(...args);
    if (code !== 0) throw new Error(`openssl ${args.join(" ")}: ${text}`);
    return text;
  }

  return {
    ask,
    run,
    pathOf,
    read: (name: string) => readFileSync(pathOf(name)),
    text: (name: string) => readFileSync(pathOf(name), "utf8"),
    write(name: string, content: string | Uint8Array) {
      writeFileSync(pathOf(name), content);
      return name;
    },
    remove: () => rmSync(directory, { recursive: true }),
  };
}
export type Openssl = ReturnType<typeof newOpenssl>;

/** How `openssl req` makes each key. */
const KEYS: Record<string, string[]> = {
  "ecdsa-p256": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"],
  "ecdsa-p384": ["ec", "-pkeyopt", "ec_paramgen_curve:P-384"],
  "ecdsa-p521": ["ec", "-pkeyopt", "ec_paramgen_curve:P-521"],
  secp256k1: ["ec", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
  ed25519: ["ed25519"],
  "rsa-1024": ["rsa:1024"],
  "rsa-2048": ["rsa:2048"],
  "rsa-exponent-3": ["rsa", "-pkeyopt", "rsa_keygen_bits:2048", "-pkeyopt", "rsa_keygen_pubexp:3"],
};

/** A PKCS #10 request in DER with the private key that signed it. */
export async function newRequest({ run, read, text }: Openssl, algorithm = "ecdsa-p256", ...options: string[]) {
  const name = crypto.randomUUID();
  const files = ["-keyout", `${name}.key`, "-out", `${name}.csr`, "-outform", "DER"];
  await run("req", "-new", "-nodes", "-subj", "/CN=whatever.example", "-newkey", ...(KEYS[algorithm] ?? []), ...files, ...options);
  return { csr: new Uint8Array(read(`${name}.csr`)), privateKeyPem: text(`${name}.key`) };
}
