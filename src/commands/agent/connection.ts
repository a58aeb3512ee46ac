import { X509Certificate } from "node:crypto";
import { existsSync, statSync } from "node:fs";
import type { Logger } from "pino";
import type { Connection } from "#agent/transport";
import { certificateBlocks } from "#x509/pem-certificates";
import { CommandError } from "../command-error";
import { readText, readToken } from "./options";

/** The files by which the agent shows who it is, and knows the server. */
export type ConnectionFiles = { tokenFile?: string; caFile?: string; clientCert?: string; clientKey?: string };

type Environment = Record<string, string | undefined>;

/** The files in which distributions keep the authorities that the system trusts. */
const SYSTEM_STORES = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];

/**
 * Returns a function for the present connection: changed files are read again, and their faults are logged while the former
 * connection goes on. Throws a CommandError where they are wrong at first.
 */
export function followConnection(files: ConnectionFiles, environment: Environment, log: Logger): () => Connection {
  let current = readConnection(files, environment);
  let seen = stampOf(files);
  return () => {
    const stamp = stampOf(files);
    if (stamp === seen) return current;
    seen = stamp;
    try {
      current = readConnection(files, environment);
      log.info("took up the changed token or certificates");
    } catch (error) {
      log.error({ reason: (error as Error).message }, "the changed token or certificates cannot be used; the former go on");
    }
    return current;
  };
}

/** Returns the connection by the files as they are now. Throws a CommandError where one of them is wrong. */
export function readConnection({ tokenFile, caFile, clientCert, clientKey }: ConnectionFiles, { SSL_CERT_FILE }: Environment): Connection {
  if ((clientCert === undefined) !== (clientKey === undefined)) throw new CommandError("--client-cert and --client-key go together.", 2);
  const token = tokenFile === undefined ? undefined : readToken(tokenFile);
  const store = SSL_CERT_FILE || SYSTEM_STORES.find((path) => existsSync(path));
  const ca = caFile === undefined ? store && readText(store, SSL_CERT_FILE ? "SSL_CERT_FILE" : "the system's store") : readCertificates(caFile, "--ca-file");
  const own = clientCert && clientKey ? { cert: readCertificates(clientCert, "--client-cert"), key: readKey(clientKey) } : {};
  return { ...(token !== undefined && { token }), hasOwnAuthority: caFile !== undefined, tls: { ...(ca && { ca }), ...own } };
}

function readCertificates(path: string, option: string) {
  const found = certificateBlocks(readText(path, option));
  if (found.length === 0) throw new CommandError(`${option} ${path} holds no certificate in PEM (-----BEGIN CERTIFICATE-----).`, 2);
  for (const [index, each] of found.entries())
    if (!isCertificate(each)) throw new CommandError(`${option} ${path}: its certificate ${index + 1} of ${found.length} is damaged.`, 2);
  return found.join("\n");
}

function readKey(path: string) {
  const key = readText(path, "--client-key");
  if (!/-----BEGIN ([A-Z]+ )?PRIVATE KEY-----/.test(key)) throw new CommandError(`--client-key ${path} holds no private key in PEM without a password.`, 2);
  if (statSync(path).mode & 0o077) throw new CommandError(`Others may read the key in ${path}: chmod 600 ${path}`, 2);
  return key;
}

function isCertificate(pem: string) {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** Returns a stamp that changes when one of the files does. */
const stampOf = ({ tokenFile, caFile, clientCert, clientKey }: ConnectionFiles) =>
  [tokenFile, caFile, clientCert, clientKey]
    .flatMap((path) => path ?? [])
    .map((path) => statSync(path, { throwIfNoEntry: false }))
    .map((found) => `${found?.ino} ${found?.mtimeMs} ${found?.size}`)
    .join();
