import type { KindOf } from "#modules/notifications/events/rules/kind";

export type AlertState = "open" | "snoozed" | "acknowledged" | "cleared";

/** An event, and the state of its subject before it; `until` is when a snooze ends. */
export type Event = {
  id: string;
  subjectId: string;
  isEnd: boolean;
  /** A snooze has ended. */
  isReminder: boolean;
  userId: string | null;
  role: KindOf<unknown>["audience"] | null;
  facts: Record<string, unknown>;
  state: AlertState | null;
  until: Date | null;
};

/**
 * `groups` are events that make one notification each, `silent` those that make none; `opened` and `ended` are subjects whose state is so
 * afterwards, `unsnoozed` those that were snoozed.
 */
export type Decision = { groups: Event[][]; silent: string[]; opened: string[]; ended: string[]; unsnoozed: string[] };

type Rules = Pick<KindOf<Record<string, unknown>>, "begins" | "ends" | "groupBy">;

/**
 * Decides which events of one kind members are notified of: of a state that stands once, unless the kind repeats, and not at all while it
 * is acknowledged or snoozed.
 */
export function decide(events: readonly Event[], rules: Rules, now: Date): Decision {
  const states = new Map<string, AlertState | null>();
  const groups = new Map<string, Event[]>();
  const silent: string[] = [];
  for (const event of events) {
    const { isNotified, next } = judge(states.get(event.subjectId) ?? stateBefore(event, now), event, rules);
    states.set(event.subjectId, next);
    if (!isNotified) silent.push(event.id);
    else addTo(groups, JSON.stringify([event.userId, event.role, rules.groupBy?.(event.facts)]), event);
  }
  const inState = (wanted: AlertState) => [...states].filter(([, state]) => state === wanted).map(([subjectId]) => subjectId);
  const unsnoozed = events.filter(({ subjectId, state }) => state === "snoozed" && states.get(subjectId) === "open").map(({ subjectId }) => subjectId);
  return { groups: [...groups.values()], silent, opened: inState("open"), ended: inState("cleared"), unsnoozed };
}

const stateBefore = ({ state, until }: Event, now: Date): AlertState | null => (state === "snoozed" && until !== null && until <= now ? "open" : state);

/** Returns whether members are notified of an event, and the state that it leaves behind. */
function judge(state: AlertState | null, { isEnd, isReminder }: Event, { begins, ends }: Rules): { isNotified: boolean; next: AlertState | null } {
  const stands = state !== null && state !== "cleared";
  if (isEnd) return { isNotified: false, next: stands ? "cleared" : state };
  if (ends) return { isNotified: stands || ends.always === true, next: stands ? "cleared" : state };
  if (!begins) return { isNotified: true, next: null };
  if (isReminder) return { isNotified: state === "open", next: state };
  if (!stands) return { isNotified: true, next: "open" };
  return isOpenTo(state, begins) ? { isNotified: begins.repeats === true, next: "open" } : { isNotified: false, next: state };
}

const isOpenTo = (state: AlertState, begins: NonNullable<Rules["begins"]>) => state === "open" || (state === "snoozed" && begins.endsSnooze === true);

function addTo(groups: Map<string, Event[]>, key: string, event: Event) {
  const group = groups.get(key);
  if (group) group.push(event);
  else groups.set(key, [event]);
}
