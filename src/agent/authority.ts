import { X509Certificate } from "node:crypto";
import { children, context, readOne, TAG } from "#x509/der";
import { isSignedBy, type ParsedCertificate, parseCertificate, publicKeyOf, readExtensions } from "#x509/facts";
import { type NameSubtrees, readNameConstraints } from "#x509/name-constraints";

/** The facts by which a policy judges an authority that is to be trusted: the certificate and its chain prove all of them. */
export type Authority = {
  commonName: string;
  fingerprint: string;
  /** Fingerprints of the authorities that stand above it, each proven by its signature; its own where it is a root. */
  signers: string[];
  /** The names that it may certify; undefined where it may certify every name. */
  names: NameSubtrees | undefined;
};

const NAME_CONSTRAINTS = "2.5.29.30";

/** Returns an authority by its certificate and chain, which are in PEM and read as such. */
export function authorityOf(certificate: string, chain: readonly string[]): Authority {
  const [own, ...above] = [certificate, ...chain].map((pem) => parseCertificate(new X509Certificate(pem).raw));
  if (!own) throw new Error("An authority has a certificate.");
  const { commonName, fingerprintSha256: fingerprint, selfSigned } = own;
  return { commonName, fingerprint, signers: [...(selfSigned ? [fingerprint] : []), ...signersOf(own, above)], names: namesOf(own.x509.raw) };
}

/** The authorities above it, as far as each has signed the one below, and may sign so many. */
function signersOf(own: ParsedCertificate, above: ParsedCertificate[]) {
  const signers: string[] = [];
  let below = own;
  for (const each of above) {
    const { keyUsage, pathLength } = each.facts;
    const maySign = each.isCa && (keyUsage.length === 0 || keyUsage.includes("keyCertSign")) && (pathLength ?? signers.length + 1) > signers.length;
    if (!maySign || each.subjectHash !== below.issuerHash || !isSignedBy(below.x509, publicKeyOf(each.x509))) break;
    signers.push(each.fingerprintSha256);
    below = each;
  }
  return signers;
}

function namesOf(der: Uint8Array) {
  const [toBeSigned] = children(readOne(der), TAG.sequence);
  const extension = readExtensions(children(toBeSigned, TAG.sequence).find(({ tag }) => tag === context(3)))(NAME_CONSTRAINTS);
  return extension && readNameConstraints(extension);
}
