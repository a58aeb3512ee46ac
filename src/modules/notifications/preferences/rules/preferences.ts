import type { MailFrequency } from "#modules/notifications/events/rules/kind";
import { KIND_NAMES, kindOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";

/** By kind, where a user has chosen. */
export type Chosen = Partial<Record<NoticeKind, MailFrequency>>;
/** Of which notices a user gets mail, and when: a daily digest comes at this hour in this time zone. */
export type Preferences = { timeZone: string; digestHour: number; mail: Chosen };
export type StoredPreferences = Preferences & { version: number; updatedAt: string | null };
export type Changes = { timeZone?: string | undefined; digestHour?: number | undefined; mail?: Chosen | undefined };

export const DEFAULT_PREFERENCES: StoredPreferences = { timeZone: "UTC", digestHour: 8, mail: {}, version: 0, updatedAt: null };

/** Returns how often mail comes of each kind. */
export const frequenciesOf = (chosen: Chosen) => KIND_NAMES.map((kind) => [kind, chosen[kind] ?? kindOf(kind).mail] as const);

/** The mails that a link at the foot of a mail ends: those of one kind, or the daily digest. */
export const DIGEST = "daily_digest";
export const ENDED = [...KIND_NAMES, DIGEST] as const;
export type Ended = NoticeKind | typeof DIGEST;

/** Returns what is chosen once such mails are ended. */
export const withoutMail = (chosen: Chosen, ended: Ended): Chosen =>
  Object.fromEntries(
    frequenciesOf(chosen)
      .filter(([kind, frequency]) => (ended === DIGEST ? frequency === "daily" : kind === ended))
      .map(([kind]) => [kind, "off"]),
  );

/** Returns the preferences after a change: what is not named stays. */
export const changed = (current: Preferences, { timeZone = current.timeZone, digestHour = current.digestHour, mail = {} }: Changes): Preferences => ({
  timeZone,
  digestHour,
  mail: { ...current.mail, ...mail },
});

/** Returns true where both say the same; what was chosen may stand in another order. */
export const isSame = (one: Preferences, other: Preferences) =>
  one.timeZone === other.timeZone && one.digestHour === other.digestHour && KIND_NAMES.every((kind) => one.mail[kind] === other.mail[kind]);
