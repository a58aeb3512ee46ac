import { createPrivateKey, X509Certificate } from "node:crypto";
import { sha256 } from "#crypto/sha256";
import { toPem } from "#x509/der-writer";
import { readPem } from "#x509/pem";

/** The certificates of a PEM text, each as a block of its own, written the one usual way. */
export const certificatesIn = (text: string) =>
  readPem(text).flatMap((block) => ("bytes" in block && block.label === "CERTIFICATE" ? toPem("CERTIFICATE", block.bytes) : []));

/** SHA-256 of the certificate's DER, in hexadecimal. */
export function fingerprintOf(pem: string) {
  const [block] = readPem(pem);
  if (!block || !("bytes" in block)) throw new Error("This is not a certificate in PEM.");
  return sha256(block.bytes);
}

/** The first private key of a PEM text. */
export const privateKeyIn = (text: string) => /-----BEGIN ([A-Z ]{0,20})PRIVATE KEY-----[^-]*(?:-(?!----)[^-]*)*-----END \1PRIVATE KEY-----/.exec(text)?.[0];

/** The first bytes of a file that is ASN.1, such as a key in DER or PKCS #12, or of one of Java's older keystores. */
const [ASN1, ...KEYSTORES] = [0x30, 0xfe, 0xce];

/** Returns true where a file may hold a private key: in PEM, in DER or in a keystore. */
export function mayHoldKey(bytes: Buffer) {
  const [first = 0] = bytes;
  return bytes.includes("PRIVATE KEY-----") || KEYSTORES.includes(first) || (first === ASN1 && !isCertificate(bytes));
}

function isCertificate(der: Uint8Array) {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    return false;
  }
}

/** Returns whether the private key is known to be another certificate's. An encrypted key, or one of a rare kind, is not known. */
export function isForeignKey(certificate: string, privateKey: string) {
  try {
    return !new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}

/** Returns what a server or client presents: the certificate and its intermediates, without the root. */
export const presented = (certificate: string, chain: string[]) =>
  [certificate, ...chain.filter((each) => !isSelfSigned(each))].map((each) => `${each.trimEnd()}\n`);

/** Milliseconds from a certificate's first moment to its last. */
export function lifetimeOf(pem: string) {
  const { validFrom, validTo } = new X509Certificate(pem);
  return Date.parse(validTo) - Date.parse(validFrom);
}

/** Returns whether it is an authority's certificate: without its key it is an anchor, which no server presents. */
export const isAuthority = (pem: string) => new X509Certificate(pem).ca;

/** Returns whether it is a root: its issuer is itself. */
function isSelfSigned(pem: string) {
  const { subject, issuer } = new X509Certificate(pem);
  return subject === issuer;
}

/** The certificates in their order, and the keys, however the text around them is laid out. */
export function essenceOf(text: string) {
  const keys = text.match(/-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]*(?:-(?!----)[^-]*)*-----END/g) ?? [];
  return [...certificatesIn(text).map(fingerprintOf), ...keys.map((key) => sha256(key.replace(/\s/g, "")))].join();
}
