/** The words of a notification, however it reaches people. */
export type Words = { title: string; message: string };
type Severity = "info" | "warning" | "critical";
export const MAIL_FREQUENCIES = ["at_once", "daily", "off"] as const;
export type MailFrequency = (typeof MAIL_FREQUENCIES)[number];

/** Events of one kind in one notification: the first of them, of `count`. */
export type EventGroup<Facts> = { items: readonly Facts[]; count: number; now: Date };

/** A kind of event. `Facts` is what a cause writes down of each, as JSON. */
export type KindOf<Facts> = {
  severity: Severity;
  /** The recipients where an event names neither a user nor a role. */
  audience: "ORG_ADMIN" | "ORG_MEMBER";
  /** Mail to those who have not chosen otherwise. */
  mail: MailFrequency;
  /**
   * The state that it begins, and that members can acknowledge; `repeats` where members are notified although that state stands already,
   * `endsSnooze` where they are although they have snoozed it.
   */
  begins?: { condition: Condition; repeats?: true; endsSnooze?: true };
  /** The state that it ends; members are notified only where that state stood, unless `always`. */
  ends?: { condition: Condition; always?: true };
  /** Events with another value make another notification. */
  groupBy?: (facts: Facts) => number | string;
  /** The order in which a notification names its events, but for that in which they came. */
  orderBy?: (facts: Facts) => string;
  one: (facts: Facts, now: Date) => Words;
  many: (group: EventGroup<Facts>) => Words;
  /** Below the organization: the path of a subject, and of all of its kind. */
  path: { one: (subjectId: string, facts: Facts) => string; many: (group: EventGroup<Facts>) => string };
  example: Facts;
};

/** States of subjects. */
export type Condition =
  | "certificate expiry"
  | "certificate request failure"
  | "certificate request approval"
  | "issuance policy approval"
  | "certificate revocation failure"
  | "certificate renewal failure"
  | "certificate renewal delay"
  | "assignment failure"
  | "assignment refusal"
  | "agent silence"
  | "rollout halt"
  | "control due"
  | "control attention"
  | "metric threshold"
  | "document failure"
  | "connection failure"
  | "credential expiry"
  | "seat limit"
  | "held rows"
  | "upgrade";

const NAMED = 3;

/** Returns "a, b, c and 7 more". */
export function nameFirst(names: readonly string[], count: number) {
  const named = names.slice(0, NAMED).join(", ");
  return count > NAMED ? `${named} and ${count - NAMED} more` : named;
}

/** Returns "in 20 days", "in 5 hours" or "within the hour". */
export function describeLeft(end: string, now: Date) {
  const hours = Math.floor((Date.parse(end) - now.getTime()) / 3_600_000);
  const [count, unit] = hours >= 48 ? [Math.floor(hours / 24), "day"] : [hours, "hour"];
  return count < 1 ? "within the hour" : `in ${count} ${unit}${count === 1 ? "" : "s"}`;
}

/** Returns "2026-11-22 at 20:50 UTC". */
export const describeMoment = (moment: string) => `${moment.slice(0, 10)} at ${moment.slice(11, 16)} UTC`;
