import { sha256 } from "#crypto/sha256";

const HOUR = 3_600_000;
/**
 * Of the lifetime: when a certificate is renewed at the latest, and how much earlier some are, so that what was issued together is not
 * renewed together.
 */
const LATEST = 2 / 3;
const SPREAD = 1 / 30;
/** Of the lifetime: what is left at least for whatever goes wrong, also where a later moment was asked for. */
const RESERVE = 1 / 12;

/** The time in which a CA wants a certificate to be renewed (RFC 9773). */
export type Window = { start: Date; end: Date };
export type Validity = { certificateId: string; notBefore: Date; notAfter: Date };
type Wishes = {
  /** The moment that the request for the certificate says, in place of two thirds of the lifetime. */
  askedAt: Date | null;
  window: Window | null;
  /** It is revoked, so that nothing is left to wait for. */
  isUrgent: boolean;
};
export type Plan = { renewAt: Date; lateAt: Date };

/**
 * Plans when a certificate is renewed, and since when that is late: at the end of the CA's window, or once half of what was left then has
 * passed.
 */
export function planRenewal({ certificateId, notBefore, notAfter }: Validity, { askedAt, window, isUrgent }: Wishes, now: Date): Plan {
  const [begin, end] = [notBefore.getTime(), notAfter.getTime()];
  const place = placeOf(certificateId);
  const chosen = askedAt?.getTime() ?? begin + (end - begin) * (LATEST - SPREAD * place);
  const inWindow = window ? window.start.getTime() + (window.end.getTime() - window.start.getTime()) * place : Number.POSITIVE_INFINITY;
  const wanted = isUrgent ? now.getTime() : Math.min(chosen, inWindow, end - (end - begin) * RESERVE);
  const renewAt = Math.max(wanted, now.getTime());
  const half = renewAt + Math.max(end - renewAt, 0) / 2;
  const limits = [half, isUrgent ? renewAt + HOUR : half, window && window.end.getTime() > renewAt ? window.end.getTime() : half];
  return { renewAt: new Date(renewAt), lateAt: new Date(Math.min(...limits)) };
}

/** From 0 to 1, always the same of one certificate. */
const placeOf = (id: string) => Number.parseInt(sha256(id).slice(0, 8), 16) / 0xffffffff;

/** For how many seconds every host must have had the successor before the certificate is retired: a day, less of a short lifetime. */
export const holdSecondsOf = ({ notBefore, notAfter }: Omit<Validity, "certificateId">) =>
  Math.floor(Math.min(24 * HOUR, (notAfter.getTime() - notBefore.getTime()) / 24) / 1_000);
