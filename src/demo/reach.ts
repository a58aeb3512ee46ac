import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Config } from "#config";
import { quoteWord } from "#text/shell-words";

/** An address that the server's certificate names, and how programs on this machine are called so that they trust it. */
export type Reach = { base: string; curl: string; agentOptions: string };

export function reachAt(url: URL, tls: Config["tls"]): Reach {
  if (!tls) return { base: url.origin, curl: "curl -s", agentOptions: "" };
  const pem = readFileSync(tls.certFile, "utf8");
  const named = new URL(url);
  named.hostname = nameIn(new X509Certificate(pem), url.hostname);
  const file = quoteWord(tls.certFile);
  return { base: named.origin, curl: `curl -s --cacert ${file}`, agentOptions: endsAtRoot(pem) ? ` --ca-file ${file}` : "" };
}

/** `host` itself or localhost, where the certificate has one of them; else the first name that it has. */
function nameIn(leaf: X509Certificate, host: string) {
  if (leaf.checkIP(host.replace(/^\[|\]$/g, "")) || leaf.checkHost(host)) return host;
  if (leaf.checkHost("localhost")) return "localhost";
  return /DNS:([^*,\s][^,\s]*)/.exec(leaf.subjectAltName ?? "")?.[1] ?? host;
}

/** curl trusts each certificate of its file; the agent wants a root there, or one that the system knows. */
function endsAtRoot(pem: string) {
  const last = new X509Certificate(pem.slice(pem.lastIndexOf("-----BEGIN CERTIFICATE-----")));
  return last.issuer === last.subject;
}
