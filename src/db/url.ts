import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";

/** How a connection is secured; an optional one stays plain where the server offers no TLS. */
export type Tls = { isOptional: boolean; options: ConnectionOptions };
type Files = Pick<ConnectionOptions, "ca" | "cert" | "key">;

const MODES = ["disable", "allow", "prefer", "require", "verify-ca", "verify-full"] as const;
const UNUSED = ["channel_binding", "gssencmode", "sslnegotiation"];

/** postgres.js reads `sslmode` alone and sends every other parameter to the server; libpq's `host` may be a directory and its certificates are files. */
export function readUrl(url: string) {
  const target = new URL(url);
  const take = (name: string) => {
    const value = target.searchParams.get(name) || undefined;
    target.searchParams.delete(name);
    return value;
  };
  const host = take("host"); // a directory of sockets
  const wished = take("sslmode") ?? "disable";
  const mode = MODES.find((each) => each === wished);
  if (!mode) throw new Error(`DATABASE_URL: sslmode must be one of ${MODES.join(", ")}, not "${wished}".`);
  const root = take("sslrootcert");
  const files = {
    ca: readFile("sslrootcert", root === "system" ? undefined : root),
    cert: readFile("sslcert", take("sslcert")),
    key: readFile("sslkey", take("sslkey")),
  };
  for (const name of UNUSED) take(name);
  return { target: target.href, host, tls: readTls(mode, files) };
}

/** What is wrong with a DATABASE_URL, as a sentence. */
export function databaseUrlFault(url: string) {
  try {
    readUrl(url);
  } catch (error) {
    return (error as Error).message;
  }
}

function readFile(name: string, path: string | undefined) {
  try {
    return path && readFileSync(path, "utf8");
  } catch {
    throw new Error(`DATABASE_URL: the file of ${name}, "${path}", cannot be read.`);
  }
}

function readTls(mode: (typeof MODES)[number], files: { [Name in keyof Files]: string | undefined }): Tls | undefined {
  if (mode === "disable") return;
  const given: Files = Object.fromEntries(Object.entries(files).filter(([, value]) => value));
  const isOptional = mode === "allow" || mode === "prefer";
  if (mode === "verify-full") return { isOptional, options: given };
  if (mode === "verify-ca" || (given.ca && mode === "require")) return { isOptional, options: { ...given, checkServerIdentity: () => undefined } };
  return { isOptional, options: { ...given, rejectUnauthorized: false } };
}
