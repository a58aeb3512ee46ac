import { X509Certificate } from "node:crypto";
import type { Stamps } from "#crypto/stamps";
import { isStatusProven } from "#modules/certificates/certificates/queries/stamps";
import { UNPROVEN } from "#modules/people/roles/rules";
import { fingerprintIn } from "#x509/stored";
import type { IssuedStatus } from "../queries";
import { earlier } from "./authority";
import type { Known } from "./ocsp-messages";

/** Nothing proves whether a certificate is revoked, so that nothing is signed of it. */
export class UnprovenStatus extends Error {
  constructor({ certificateId }: IssuedStatus) {
    super(`OCSP says nothing of the certificate ${certificateId}: its status ${UNPROVEN}. Revoke it, or look at it and run certitude secrets trust.`);
  }
}

/**
 * Returns whether the certificate is revoked, by its stamped status alone: a row that differs was changed outside the server.
 * Throws UnprovenStatus where no stamp proves it.
 */
export function provenStatus(stamps: Stamps, issued: IssuedStatus, now: Date): Known {
  const { organizationId, serialNumber, revokedAt, reason, certificate } = issued;
  const { fingerprintSha256, pem, status, statusStamp } = certificate;
  const isRetiredRevoked = status === "retired" && certificate.revokedAt !== null;
  const isIts = fingerprintIn(pem) === fingerprintSha256 && serialNumberIn(pem) === serialNumber;
  if (!isIts || !isStatusProven(stamps, statusStamp, { organizationId, fingerprintSha256, status, isRevoked: status === "revoked" || isRetiredRevoked }))
    throw new UnprovenStatus(issued);
  if (status !== "revoked" && !isRetiredRevoked) return { revokedAt: null, reason: null };
  return { revokedAt: earlier(certificate.revokedAt ?? revokedAt ?? now, now), reason: certificate.reason ?? reason };
}

const serialNumberIn = (pem: string) => BigInt(`0x${new X509Certificate(pem).serialNumber}`).toString(16);

/** When the certificate ends, as itself says. */
export const endOf = ({ certificate }: IssuedStatus) => new X509Certificate(certificate.pem).validToDate;
