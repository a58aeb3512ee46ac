import { X509Certificate } from "node:crypto";
import { readPem } from "../modules/certificates/x509/pem";
import { digestOf } from "./files";

const WIDTH = 64;

/** The certificates of a PEM text, each as a block of its own, written the one usual way. */
export const certificatesIn = (text: string) =>
  readPem(text).flatMap((block) => ("bytes" in block && block.label === "CERTIFICATE" ? toPem("CERTIFICATE", block.bytes) : []));

/** SHA-256 of the certificate's DER, in hexadecimal. */
export function fingerprintOf(pem: string) {
  const [block] = readPem(pem);
  if (!block || !("bytes" in block)) throw new Error("This is not a certificate in PEM.");
  return digestOf(block.bytes);
}

export function toPem(label: string, bytes: Uint8Array) {
  const lines =
    Buffer.from(bytes)
      .toString("base64")
      .match(new RegExp(`.{1,${WIDTH}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** Whether it is a root: its issuer is itself. */
export function isSelfSigned(pem: string) {
  const { subject, issuer } = new X509Certificate(pem);
  return subject === issuer;
}
