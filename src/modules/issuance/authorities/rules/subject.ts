import type { NewAuthority } from "../schema";

/**
 * Control characters, line and paragraph ends, changes of direction, and code points that are no characters, which readers of
 * certificates refuse.
 */
const UNFIT = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Noncharacter_Code_Point}]/u;

/** Returns what is wrong with the characters of a subject, as a sentence that names the field. */
export function subjectFault(at: string, subject: NewAuthority["subject"]) {
  for (const [field, value] of Object.entries(subject ?? {})) {
    const unfit = UNFIT.exec(value ?? "")?.[0].codePointAt(0);
    if (unfit !== undefined) return `${at}.${field} has the character U+${hex(unfit)}, which the name of an authority must not have.`;
  }
}

const hex = (codePoint: number) => codePoint.toString(16).toUpperCase().padStart(4, "0");
