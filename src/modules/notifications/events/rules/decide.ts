import type { KindOf } from "./kind";

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
 * `told` are events by who hears of them together; `opened` and `ended` are subjects whose state is so afterwards, `awakened` those among the
 * opened that were snoozed; `silent` are events that are told to none.
 */
export type Decision = { told: Event[][]; silent: string[]; opened: string[]; ended: string[]; awakened: string[] };

type Rules = Pick<KindOf<Record<string, unknown>>, "begins" | "ends" | "groupBy">;

/**
 * Decides which events of one kind are told. A state that stands is told once, unless the kind repeats, and not at all while members have
 * acknowledged or snoozed it.
 */
export function decide(events: readonly Event[], rules: Rules, now: Date): Decision {
  const states = new Map<string, AlertState | null>();
  const groups = new Map<string, Event[]>();
  const silent: string[] = [];
  for (const event of events) {
    const { isTold, next } = judge(states.get(event.subjectId) ?? stateBefore(event, now), event, rules);
    states.set(event.subjectId, next);
    if (!isTold) silent.push(event.id);
    else addTo(groups, JSON.stringify([event.userId, event.role, rules.groupBy?.(event.facts)]), event);
  }
  const inState = (wanted: AlertState) => [...states].filter(([, state]) => state === wanted).map(([subjectId]) => subjectId);
  const awakened = events.filter(({ subjectId, state }) => state === "snoozed" && states.get(subjectId) === "open").map(({ subjectId }) => subjectId);
  return { told: [...groups.values()], silent, opened: inState("open"), ended: inState("cleared"), awakened };
}

const stateBefore = ({ state, until }: Event, now: Date): AlertState | null => (state === "snoozed" && until !== null && until <= now ? "open" : state);

/** Returns whether an event is told, and the state it leaves behind. */
function judge(state: AlertState | null, { isEnd, isReminder }: Event, { begins, ends }: Rules): { isTold: boolean; next: AlertState | null } {
  const stands = state !== null && state !== "cleared";
  if (isEnd) return { isTold: false, next: stands ? "cleared" : state };
  if (ends) return { isTold: stands || ends.always === true, next: stands ? "cleared" : state };
  if (!begins) return { isTold: true, next: null };
  if (isReminder) return { isTold: state === "open", next: state };
  if (!stands) return { isTold: true, next: "open" };
  return isHeard(state, begins) ? { isTold: begins.repeats === true, next: "open" } : { isTold: false, next: state };
}

const isHeard = (state: AlertState, begins: NonNullable<Rules["begins"]>) => state === "open" || (state === "snoozed" && begins.endsSnooze === true);

function addTo(groups: Map<string, Event[]>, key: string, event: Event) {
  const group = groups.get(key);
  if (group) group.push(event);
  else groups.set(key, [event]);
}
