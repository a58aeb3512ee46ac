import { createPublicKey, type KeyObject, verify } from "node:crypto";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import { judgeKey } from "#modules/issuance/issuing/rules/key-strength";
import { readName, valuesOf } from "#modules/issuance/issuing/rules/names";
import { children, contentOf, context, type Der, DerError, readOid, readOne, TAG } from "#x509/der";
import { readExtensions } from "#x509/facts";
import { readAlternativeNames, readName as readSubject } from "#x509/names";
import { readPem } from "#x509/pem";

const MAX_CSR = 65_536;
const OID = { commonName: "2.5.4.3", extensionRequest: "1.2.840.113549.1.9.14", alternativeNames: "2.5.29.17", constraints: "2.5.29.19" };
/** The signature algorithms of a CSR: the digest, or null for Ed25519, which has its own. */
const DIGESTS: Record<string, string | null> = {
  "1.2.840.113549.1.1.11": "sha256",
  "1.2.840.113549.1.1.12": "sha384",
  "1.2.840.113549.1.1.13": "sha512",
  "1.2.840.10045.4.3.2": "sha256",
  "1.2.840.10045.4.3.3": "sha384",
  "1.2.840.10045.4.3.4": "sha512",
  "1.3.101.112": null,
};

/** The contents of a PKCS #10 request (RFC 2986). */
export type Csr = { der: Uint8Array; publicKeyInfo: Uint8Array; algorithm: string; names: Name[] };

/**
 * A request whose signature is true and whose key is strong, for exactly `wanted`; or what is wrong with it, as what follows "The CSR …".
 */
export function readCsr(pem: string, wanted: readonly Name[]): Csr | { fault: string } {
  const [block, ...more] = readPem(pem);
  if (!block || more.length > 0 || !/^(NEW )?CERTIFICATE REQUEST$/.test(block.label))
    return { fault: "must be one block -----BEGIN CERTIFICATE REQUEST----- in PEM" };
  if ("fault" in block) return { fault: `cannot be read: ${block.fault}` };
  try {
    return judge(block.bytes, wanted);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return { fault: `cannot be read: ${error.message}` };
  }
}

function judge(der: Uint8Array, wanted: readonly Name[]): Csr | { fault: string } {
  if (der.length > MAX_CSR) return { fault: "is larger than 64 KiB" };
  const [info, signatureAlgorithm, signature] = children(readOne(der), TAG.sequence);
  const [, subject, publicKeyInfo, attributes] = children(info, TAG.sequence);
  const key = publicKeyInfo && openKey(publicKeyInfo.raw);
  if (!key) return { fault: "has a public key that cannot be read" };
  const strength = judgeKey(key);
  if ("fault" in strength) return { fault: `has a key that ${strength.fault}` };
  const oid = readOid(children(signatureAlgorithm, TAG.sequence)[0]);
  const digest = DIGESTS[oid];
  if (digest === undefined) return { fault: `is signed with ${oid}: SHA-256, SHA-384 and SHA-512 with RSA or ECDSA, and Ed25519 are accepted` };
  if (!isSigned(info?.raw, digest, key, contentOf(signature, TAG.bitString).subarray(1))) return { fault: "is not signed by the key that it holds" };
  const extension = readExtensions(attributes && requested(attributes));
  const constraints = extension(OID.constraints);
  if (constraints && children(constraints, TAG.sequence)[0]?.content[0] === 0xff) return { fault: "asks for the certificate of an authority" };
  const named = namesIn(subject, extension(OID.alternativeNames));
  if ("fault" in named) return named;
  const fault = findDifference(valuesOf(named.names), valuesOf(wanted));
  return fault === undefined ? { der, publicKeyInfo: publicKeyInfo.raw, algorithm: strength.algorithm, names: named.names } : { fault };
}

/** The public key that a PKCS #10 request holds, as its DER. */
export const keyIn = (der: Uint8Array) => children(children(readOne(der), TAG.sequence)[0], TAG.sequence)[2]?.raw ?? new Uint8Array();

function openKey(publicKeyInfo: Uint8Array): KeyObject | undefined {
  try {
    return createPublicKey({ key: Buffer.from(publicKeyInfo), format: "der", type: "spki" });
  } catch {
    return;
  }
}

function isSigned(signed: Uint8Array = new Uint8Array(), digest: string | null, key: KeyObject, signature: Uint8Array) {
  try {
    return verify(digest, signed, key, signature);
  } catch {
    return false;
  }
}

/** The extensions that the attributes ask for, wrapped as in a certificate. */
function requested(attributes: Der): Der | undefined {
  for (const attribute of children(attributes, context(0))) {
    const [type, values] = children(attribute, TAG.sequence);
    const [extensions] = readOid(type) === OID.extensionRequest ? children(values, TAG.set) : [];
    if (extensions) return { tag: context(3), content: extensions.raw, raw: extensions.raw };
  }
}

/** Tags of the alternative names that a certificate for servers and clients has: dNSName and iPAddress. */
const TAGS = [0x82, 0x87];

function namesIn(subject: Der | undefined, alternative: Der | undefined): { names: Name[] } | { fault: string } {
  if (alternative && children(alternative, TAG.sequence).some(({ tag }) => !TAGS.includes(tag)))
    return { fault: "asks for names that are neither DNS names nor addresses" };
  const { dns, ip } = alternative ? readAlternativeNames(alternative) : { dns: [], ip: [] };
  const common = readSubject(subject)
    .flat()
    .filter(({ oid }) => oid === OID.commonName);
  const names = new Map<string, Name>();
  for (const each of [...dns, ...ip, ...common.map(({ value }) => value)]) {
    const name = readName(each);
    if ("fault" in name) return { fault: `asks for the name ${JSON.stringify(each.slice(0, 253))}, which ${name.fault}` };
    names.set(name.value, name);
  }
  return { names: [...names.values()] };
}

/** Returns the difference of two lists of names, as the end of a sentence that begins with "The CSR …" or "The certificate …". */
export function findDifference(found: readonly string[], wanted: readonly string[]) {
  const missing = wanted.find((each) => !found.includes(each));
  if (missing !== undefined) return `lacks the name ${missing}`;
  const other = found.find((each) => !wanted.includes(each));
  return other === undefined ? undefined : `has the name ${other.slice(0, 253)}, which was not asked for`;
}
