import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { certificateBlocks } from "#x509/pem-certificates";

/** Paths of PEM files: the server's certificate, then what leads to its root; and its private key. */
export type TlsFiles = { certFile: string; keyFile: string };
/** The certificate and key of the two files, in PEM. */
export type TlsPair = { cert: string; key: string; subject: string; notBefore: Date; notAfter: Date };

type TlsPaths = { cert: string | undefined; key: string | undefined };

/** Reads TLS_CERT and TLS_KEY; undefined without them, or with a fault. */
export function readTlsSettings({ cert, key }: TlsPaths, fault: (sentence: string) => void): TlsFiles | undefined {
  if (!cert && !key) return;
  if (!cert) return void fault("TLS_CERT is required with TLS_KEY: the PEM file with the server's certificate and its chain.");
  if (!key) return void fault("TLS_KEY is required with TLS_CERT: the PEM file with the key of the certificate.");
  const files = { certFile: resolve(cert), keyFile: resolve(key) };
  try {
    readTlsPair(files);
    return files;
  } catch (error) {
    fault((error as Error).message);
  }
}

/** Permissions of users who are neither the owner nor in the group: Debian's ssl-cert is such a group. */
const EVERYBODY = 0o007;

/** Returns what the files hold. Throws, in a sentence, where they cannot be read or do not belong together. */
export function readTlsPair({ certFile, keyFile }: TlsFiles): TlsPair {
  const cert = readText("TLS_CERT", certFile);
  const [leaf] = readChain(certFile, cert);
  const key = readText("TLS_KEY", keyFile);
  const mode = statSync(keyFile).mode & 0o777;
  if ((mode & EVERYBODY) !== 0) throw new Error(`TLS_KEY: ${keyFile} is open to every user of this machine (mode ${mode.toString(8)}). chmod o= closes it.`);
  const subject = leaf.subject.replaceAll("\n", ", ");
  if (!leaf.checkPrivateKey(readKey(keyFile, key)))
    throw new Error(`TLS_KEY: ${keyFile} is not the key of the first certificate in ${certFile} (${subject}). The server's own certificate comes first there.`);
  return { cert, key, subject, notBefore: new Date(leaf.validFrom), notAfter: new Date(leaf.validTo) };
}

/** Returns what is wrong with the time of a certificate that is served all the same; clients will refuse it. */
export function timeFault({ notBefore, notAfter }: Pick<TlsPair, "notBefore" | "notAfter">, now: Date) {
  if (notAfter <= now) return `has expired on ${notAfter.toISOString()}`;
  if (notBefore > now) return `is not valid before ${notBefore.toISOString()}`;
}

function readText(name: string, file: string) {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new Error(`${name}: ${file} cannot be read: ${(error as Error).message}.`, { cause: error });
  }
}

function readChain(file: string, pem: string): [X509Certificate, ...X509Certificate[]] {
  const [leaf, ...others] = certificateBlocks(pem).map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (error) {
      throw new Error(`TLS_CERT: certificate ${index + 1} in ${file} cannot be read: ${(error as Error).message}.`, { cause: error });
    }
  });
  if (!leaf) throw new Error(`TLS_CERT: ${file} holds no certificate in PEM (-----BEGIN CERTIFICATE-----).`);
  return [leaf, ...others];
}

function readKey(file: string, pem: string): KeyObject {
  if (pem.includes("ENCRYPTED")) throw new Error(`TLS_KEY: the key in ${file} has a passphrase. openssl pkey writes it without one.`);
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new Error(`TLS_KEY: ${file} holds no private key in PEM: ${(error as Error).message}.`, { cause: error });
  }
}
