import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Extensions = { basicConstraints?: string; keyUsage?: string; nameConstraints?: string };

/** A root that openssl makes with these extensions, and what it issues whether it may or not. */
export function constrained(extensions: Extensions) {
  const directory = mkdtempSync(join(tmpdir(), "certitude-constrained-"));
  const pathOf = (name: string) => join(directory, name);
  const own = { basicConstraints: "critical,CA:TRUE", ...extensions };
  const lines = Object.entries(own).map(([name, value]) => `${name}=${value}`);
  writeFileSync(pathOf("root.cnf"), `[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=ext\n[dn]\nCN=Constrained\n[ext]\n${lines.join("\n")}\n`);
  openssl("req", "-x509", ...newKey(pathOf("root.key")), "-config", pathOf("root.cnf"), "-days", "90", "-out", pathOf("root.pem"));
  const pem = readFileSync(pathOf("root.pem"), "utf8");
  const privateKey = readFileSync(pathOf("root.key"), "utf8");

  /** Returns the PEM of a certificate with these basic constraints. */
  function issue(basicConstraints: string) {
    const place = mkdtempSync(join(tmpdir(), "certitude-constrained-"));
    const at = (name: string) => join(place, name);
    writeFileSync(at("root.pem"), pem);
    writeFileSync(at("root.key"), privateKey);
    writeFileSync(at("ext"), `basicConstraints=${basicConstraints}\n`);
    openssl("req", "-new", ...newKey(at("key")), "-subj", "/CN=Below", "-out", at("csr"));
    openssl("x509", "-req", "-in", at("csr"), "-CA", at("root.pem"), "-CAkey", at("root.key"), "-days", "90", "-extfile", at("ext"), "-out", at("pem"));
    const issued = readFileSync(at("pem"), "utf8");
    rmSync(place, { recursive: true });
    return issued;
  }

  rmSync(directory, { recursive: true });
  return { pem, issue };
}

const newKey = (path: string) => ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", path];

function openssl(...args: string[]) {
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args], { stderr: "pipe" });
  if (exitCode !== 0) throw new Error(`openssl ${args[0]}: ${stderr.toString()}`);
}
