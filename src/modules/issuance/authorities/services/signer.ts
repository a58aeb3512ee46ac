import type { Keyring } from "#crypto/keyring";
import type { IssuingDeps } from "#modules/issuance/issuing/services/drivers";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";
import { children, context, type Der, readOne, TAG } from "#x509/der";
import { readExtensions } from "#x509/facts";
import { readKeyIdentifiers } from "#x509/key-identifiers";
import { readNameConstraints } from "#x509/name-constraints";
import { readPem } from "#x509/pem";
import type { StoredAuthority } from "../queries/authorities";
import { isAuthorityProven } from "../queries/stamps";
import { formatNetwork, type NameConstraints } from "../rules/names";
import { keyIdOf, type Signer } from "./certificates";
import { openKey } from "./keys";

/** Returns the DER of the one certificate that a PEM of ours holds. */
export function derOf(pem: string) {
  const [block] = readPem(pem);
  if (!block || "fault" in block) throw new Error("a stored certificate cannot be read");
  return block.bytes;
}

/** Returns the parts of an authority's certificate that others need: name and key in DER, key identifier, name constraints. */
export function partsOf(der: Uint8Array) {
  const [toBeSigned] = children(readOne(der), TAG.sequence);
  const fields = children(toBeSigned, TAG.sequence).filter((each) => each.tag !== context(0));
  const [, , , , subject, publicKey, ...rest] = fields;
  if (!subject || !publicKey) throw new Error("a certificate without a name or key");
  const constraints = readExtensions(rest.find((each) => each.tag === context(3)))("2.5.29.30");
  return {
    subject: subject.raw,
    publicKey: publicKey.raw,
    keyId: readKeyIdentifiers(der).subject ?? keyIdOf(publicKey.raw),
    constraints: constraints && readConstraints(constraints),
  };
}

function readConstraints(extension: Der): NameConstraints {
  const { permitted, excluded } = readNameConstraints(extension);
  return {
    permittedDomains: permitted.domains,
    excludedDomains: excluded.domains,
    permittedAddresses: permitted.networks.map(formatNetwork),
    excludedAddresses: excluded.networks.map(formatNetwork),
  };
}

export const urlsOf = ({ publicUrl, id }: Pick<StoredAuthority, "publicUrl" | "id">) => ({
  certificate: `${publicUrl}/pki/${id}/ca.crt`,
  crl: `${publicUrl}/pki/${id}/crl`,
  ocsp: `${publicUrl}/pki/${id}/ocsp`,
});

/** An authority that can sign: `openKey` for it. */
export function openSigner(keyring: Keyring, authority: StoredAuthority): Signer {
  const { subject, keyId } = partsOf(derOf(authority.pem ?? ""));
  return { key: openKey(keyring, authority), subject, keyId, urls: urlsOf(authority) };
}

/** Returns the certificates that follow one of this authority in a chain; without the root, which clients have. */
export const chainBelow = ({ kind, pem, chainPem }: Pick<StoredAuthority, "kind" | "pem" | "chainPem">) => (kind === "root" ? "" : `${pem}${chainPem}`);

export const unprovenSentence = (name: string) => `The authority "${name}" ${UNPROVEN}. ${TO_TRUST}`;

/** Why an authority issues nothing, as a sentence. */
export function issuingFault({ stamps, clock }: Pick<IssuingDeps, "stamps" | "clock">, authority: StoredAuthority) {
  const { name, status, enabled, isRevoked, notAfter } = authority;
  if (!isAuthorityProven(stamps, authority)) return unprovenSentence(name);
  if (status === "pending") return `The authority "${name}" waits for its certificate.`;
  if (!notAfter || notAfter <= clock()) return `The authority "${name}" has ended.`;
  if (isRevoked) return `The authority "${name}" is revoked, or one above it.`;
  if (!enabled) return `The authority "${name}" is disabled.`;
}
