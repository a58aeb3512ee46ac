/** RFC 5280, 5.3.1: the codes of reasons. `unspecified` is said by leaving it out. */
const CODES: Record<string, number> = {
  keyCompromise: 1,
  cACompromise: 2,
  affiliationChanged: 3,
  superseded: 4,
  cessationOfOperation: 5,
  certificateHold: 6,
  privilegeWithdrawn: 9,
  aACompromise: 10,
};

/** Returns the code of a reason; undefined for one that is left out. */
export const reasonCodeOf = (reason: string | null) => CODES[reason ?? ""];

/** Returns the ENUMERATED of a reason in DER, or nothing for one that is left out. */
export function encodeReason(reason: string | null) {
  const code = reasonCodeOf(reason);
  return code === undefined ? [] : [Buffer.from([0x0a, 1, code])];
}
