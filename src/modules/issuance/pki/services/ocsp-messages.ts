import { keyBitsOf } from "#modules/issuance/authorities/services/certificates";
import { sign, signatureOf } from "#modules/issuance/authorities/services/keys";
import { partsOf } from "#modules/issuance/authorities/services/signer";
import { children, contentOf, context, DerError, readInteger, readOid, readOne, TAG } from "#x509/der";
import { bits, generalizedTime, integer, octets, oid, sequence, tagged } from "#x509/der-writer";
import { hash } from "#x509/facts";
import { encodeReason } from "#x509/revocation-reasons";
import type { OpenResponder } from "./responder";

/** A certificate that a request asks about (RFC 6960, 4.1.1): its serial number, by whom it is, and the CertID as it was sent. */
export type CertId = { serialNumber: string; issuer: string; raw: Uint8Array };
/** The status of a certificate. */
export type Known = { revokedAt: Date | null; reason: string | null };
export type Single = { certId: Uint8Array; known: Known | undefined };

const HASHES = { sha1: { oid: "1.3.14.3.2.26", hex: "2b0e03021a" }, sha256: { oid: "2.16.840.1.101.3.4.2.1", hex: "608648016503040201" } } as const;
type Hash = keyof typeof HASHES;
const NULL = Buffer.from([5, 0]);
const BASIC = "2b0601050507300101";

/** An answer without a signature: the request is malformed, nothing can be said for now, or it is about certificates of others. */
export const REFUSALS = {
  malformed: sequence(Buffer.from([0x0a, 1, 1])),
  tryLater: sequence(Buffer.from([0x0a, 1, 3])),
  unauthorized: sequence(Buffer.from([0x0a, 1, 6])),
};

/** Returns the certificates that a request asks about; undefined where it is no request. Its nonce is ignored: answers are signed ahead. */
export function readOcspRequest(bytes: Uint8Array): CertId[] | undefined {
  try {
    const [toBeSigned] = children(readOne(bytes), TAG.sequence);
    const list = children(toBeSigned, TAG.sequence).find((each) => each.tag === TAG.sequence);
    return children(list, TAG.sequence).map((request) => {
      const [certId] = children(request, TAG.sequence);
      const [algorithm, nameHash, keyHash, serialNumber] = children(certId, TAG.sequence);
      if (!certId) throw new DerError("a request without a CertID");
      const [name, key] = [nameHash, keyHash].map((each) => Buffer.from(contentOf(each, TAG.octetString)).toString("hex"));
      const issuer = `${readOid(children(algorithm, TAG.sequence)[0])} ${name} ${key}`;
      return { serialNumber: readInteger(serialNumber), issuer, raw: certId.raw };
    });
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    return;
  }
}

/** How an authority is named in requests, by each hash. */
export function issuersOf(certificate: Uint8Array) {
  const { subject, publicKey } = partsOf(certificate);
  const [name, key] = [subject, keyBitsOf(publicKey)];
  const named = (algorithm: Hash) => ({ algorithm, nameHash: hash(algorithm, name), keyHash: hash(algorithm, key) });
  return [named("sha1"), named("sha256")];
}
export type Issuers = ReturnType<typeof issuersOf>;

/** True where a request is about certificates of this authority. */
export const isOf = (issuers: Issuers, { issuer }: CertId) =>
  issuers.some(({ algorithm, nameHash, keyHash }) => issuer === `${HASHES[algorithm].oid} ${nameHash} ${keyHash}`);

/** The CertIDs of a certificate, SHA-1 first, which most clients send and some look for only at the first place. */
export const certIdsOf = (issuers: Issuers, serialNumber: string) =>
  issuers.map(({ algorithm, nameHash, keyHash }) =>
    sequence(sequence(oid(HASHES[algorithm].hex), NULL), octets(Buffer.from(nameHash, "hex")), octets(Buffer.from(keyHash, "hex")), integer(serialNumber)),
  );

type Times = { thisUpdate: Date; nextUpdate: Date };

/** A signed answer (RFC 6960, 4.2). One that is signed ahead holds a CertID for each hash. */
export async function signAnswer({ key, certificate }: OpenResponder, singles: readonly Single[], { thisUpdate, nextUpdate }: Times) {
  const { identifier } = signatureOf(key);
  const responses = singles.map(({ certId, known }) =>
    sequence(certId, encodeStatus(known), generalizedTime(thisUpdate), tagged(context(0), generalizedTime(nextUpdate))),
  );
  const byKey = octets(Buffer.from(hash("sha1", keyBitsOf(partsOf(certificate).publicKey)), "hex"));
  const data = sequence(tagged(context(2), byKey), generalizedTime(thisUpdate), sequence(...responses));
  const basic = sequence(data, identifier, bits(await sign(key, data)), tagged(context(0), sequence(certificate)));
  return sequence(Buffer.from([0x0a, 1, 0]), tagged(context(0), sequence(oid(BASIC), octets(basic))));
}

function encodeStatus(known: Known | undefined) {
  if (!known) return tagged(0x82);
  if (!known.revokedAt) return tagged(0x80);
  return tagged(context(1), generalizedTime(known.revokedAt), ...encodeReason(known.reason).map((code) => tagged(context(0), code)));
}
