import { createPrivateKey, X509Certificate } from "node:crypto";
import { sha256 } from "#crypto/sha256";
import { readPem } from "#modules/certificates/certificates/x509/pem";

const WIDTH = 64;

/** The certificates of a PEM text, each as a block of its own, written the one usual way. */
export const certificatesIn = (text: string) =>
  readPem(text).flatMap((block) => ("bytes" in block && block.label === "CERTIFICATE" ? toPem("CERTIFICATE", block.bytes) : []));

/** SHA-256 of the certificate's DER, in hexadecimal. */
export function fingerprintOf(pem: string) {
  const [block] = readPem(pem);
  if (!block || !("bytes" in block)) throw new Error("This is not a certificate in PEM.");
  return sha256(block.bytes);
}

export function toPem(label: string, bytes: Uint8Array) {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(new RegExp(`.{1,${WIDTH}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
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

/** Whether the private key is known to be another certificate's. One that is encrypted or of a rare kind only its server can read. */
export function isForeignKey(certificate: string, privateKey: string) {
  try {
    return !new X509Certificate(certificate).checkPrivateKey(createPrivateKey(privateKey));
  } catch {
    return false;
  }
}

/** What a server or client presents: the certificate and its intermediates, without the root. */
export const presented = (certificate: string, chain: string[]) =>
  [certificate, ...chain.filter((each) => !isSelfSigned(each))].map((each) => `${each.trimEnd()}\n`);

/** Milliseconds from a certificate's first moment to its last. */
export function lifetimeOf(pem: string) {
  const { validFrom, validTo } = new X509Certificate(pem);
  return Date.parse(validTo) - Date.parse(validFrom);
}

/** Whether it is an authority's: without its key it is an anchor, and nothing that a server presents. */
export const isAuthority = (pem: string) => new X509Certificate(pem).ca;

/** Whether it is a root: its issuer is itself. */
function isSelfSigned(pem: string) {
  const { subject, issuer } = new X509Certificate(pem);
  return subject === issuer;
}

/** The certificates in their order, and the keys, however the text around them is laid out. */
export function essenceOf(text: string) {
  const keys = text.match(/-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[^-]*(?:-(?!----)[^-]*)*-----END/g) ?? [];
  return [...certificatesIn(text).map(fingerprintOf), ...keys.map((key) => sha256(key.replace(/\s/g, "")))].join();
}
