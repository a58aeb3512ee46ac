import { type KeyObject, X509Certificate } from "node:crypto";
import { children, contentOf, context, type Der, DerError, readInteger, readOid, readOne, readTime, TAG } from "./der";
import { toPem } from "./der-writer";
import { type KeyFacts, readKey, readSignatureAlgorithm } from "./keys";
import { type AlternativeNames, formatName, readAlternativeNames, readableName, readName } from "./names";

/** The facts in a certificate. Hashes are lower-case hexadecimal; `serialNumber` is hexadecimal and may be negative. */
type CertificateFacts = {
  serialNumber: string;
  fingerprintSha1: string;
  spkiSha256: string;
  key: KeyFacts;
  signatureAlgorithm: string;
  pathLength: number | null;
  keyUsage: string[];
  extendedKeyUsage: string[];
  subjectAlternativeNames: AlternativeNames;
};

export type ParsedCertificate = {
  commonName: string;
  subject: string;
  issuer: string;
  subjectHash: string;
  issuerHash: string;
  fingerprintSha256: string;
  notBefore: Date;
  notAfter: Date;
  isCa: boolean;
  selfSigned: boolean;
  facts: CertificateFacts;
  pem: string;
  x509: X509Certificate;
};

const KEY_USAGES = [
  "digitalSignature",
  "nonRepudiation",
  "keyEncipherment",
  "dataEncipherment",
  "keyAgreement",
  "keyCertSign",
  "cRLSign",
  "encipherOnly",
  "decipherOnly",
];

const EXTENDED_KEY_USAGES: Record<string, string> = {
  "1.3.6.1.5.5.7.3.1": "serverAuth",
  "1.3.6.1.5.5.7.3.2": "clientAuth",
  "1.3.6.1.5.5.7.3.3": "codeSigning",
  "1.3.6.1.5.5.7.3.4": "emailProtection",
  "1.3.6.1.5.5.7.3.8": "timeStamping",
  "1.3.6.1.5.5.7.3.9": "OCSPSigning",
  "2.5.29.37.0": "anyExtendedKeyUsage",
};

const NO_NAMES: AlternativeNames = { dns: [], ip: [], email: [], uri: [] };
export const hash = (algorithm: "sha1" | "sha256", bytes: Uint8Array) => new Bun.CryptoHasher(algorithm).update(bytes).digest("hex");

/**
 * Reads a DER certificate, or throws its fault as a sentence. The platform's parser decides what is a certificate and checks
 * signatures; names, usages and dates are read here, exactly as encoded.
 */
export function parseCertificate(der: Uint8Array): ParsedCertificate {
  const [toBeSigned, outerAlgorithm] = children(readOne(der), TAG.sequence);
  const pem = toPem("CERTIFICATE", der);
  const x509 = openCertificate(pem);
  const fields = children(toBeSigned, TAG.sequence);
  if (fields[0]?.tag === context(0)) fields.shift(); // the version, absent in X.509 v1
  const [serial, , issuer, validity, subject, publicKeyInfo, ...rest] = fields;
  const [notBefore, notAfter] = children(validity, TAG.sequence).map(readTime);
  if (!notBefore || !notAfter || !subject || !issuer || !publicKeyInfo) throw new DerError("a field is missing");
  const extension = readExtensions(rest.find((each) => each.tag === context(3)));
  const [subjectName, issuerName] = [readName(subject), readName(issuer)];
  const alternativeNames = extension("2.5.29.17");
  const subjectAlternativeNames = alternativeNames ? readAlternativeNames(alternativeNames) : NO_NAMES;
  const fingerprintSha256 = hash("sha256", der);
  return {
    commonName: readableName(subjectName, subjectAlternativeNames.dns, fingerprintSha256),
    subject: formatName(subjectName),
    issuer: formatName(issuerName),
    subjectHash: hash("sha256", subject.raw),
    issuerHash: hash("sha256", issuer.raw),
    fingerprintSha256,
    notBefore,
    notAfter,
    ...readConstraints(extension("2.5.29.19")),
    selfSigned: Buffer.compare(subject.raw, issuer.raw) === 0 && isSignedBy(x509, publicKeyOf(x509)),
    facts: {
      serialNumber: readInteger(serial),
      fingerprintSha1: hash("sha1", der),
      spkiSha256: hash("sha256", publicKeyInfo.raw),
      key: readKey(publicKeyInfo),
      signatureAlgorithm: readSignatureAlgorithm(outerAlgorithm),
      pathLength: readPathLength(extension("2.5.29.19")),
      keyUsage: readKeyUsage(extension("2.5.29.15")),
      extendedKeyUsage: readExtendedKeyUsage(extension("2.5.29.37")),
      subjectAlternativeNames,
    },
    pem,
    x509,
  };
}

/** Returns undefined for a key that the platform cannot use. */
export function publicKeyOf(certificate: X509Certificate) {
  try {
    return certificate.publicKey;
  } catch {
    return;
  }
}

/** True when `key` signed the certificate. A key that the platform cannot use proves nothing. */
export function isSignedBy(certificate: X509Certificate, key: KeyObject | undefined) {
  try {
    return key !== undefined && certificate.verify(key);
  } catch {
    return false;
  }
}

/** From PEM, because the platform takes no more than 100 KiB of DER. */
function openCertificate(pem: string) {
  try {
    return new X509Certificate(pem);
  } catch {
    throw new DerError("it is not one that X.509 allows");
  }
}

/** Looks an extension's value up by its OID. */
export function readExtensions(wrapper: Der | undefined) {
  const list = wrapper ? children(children(wrapper, context(3))[0], TAG.sequence) : [];
  const values = new Map(
    list.map((each) => {
      const parts = children(each, TAG.sequence);
      return [readOid(parts[0]), contentOf(parts.at(-1), TAG.octetString)] as const;
    }),
  );
  return (oid: string) => {
    const value = values.get(oid);
    return value && readOne(value);
  };
}

function readConstraints(value: Der | undefined) {
  const flag = value && children(value, TAG.sequence).find((each) => each.tag === TAG.boolean);
  return { isCa: flag?.content[0] === 0xff };
}

function readPathLength(value: Der | undefined) {
  const length = value && children(value, TAG.sequence).find((each) => each.tag === TAG.integer);
  return length ? Number.parseInt(readInteger(length), 16) : null;
}

function readKeyUsage(value: Der | undefined) {
  const bits = value ? contentOf(value, TAG.bitString).subarray(1) : new Uint8Array();
  return KEY_USAGES.filter((_, index) => ((bits[index >> 3] ?? 0) & (0x80 >> (index & 7))) !== 0);
}

function readExtendedKeyUsage(value: Der | undefined) {
  const oids = value ? children(value, TAG.sequence).map(readOid) : [];
  return oids.map((oid) => EXTENDED_KEY_USAGES[oid] ?? oid);
}
