import { kindOf, type NoticeKind } from "#modules/notifications/events/rules/kinds";
import type { Event } from "./decide";

/** Events that a notification names in its data. */
const LISTED = 100;

/** Makes the words of a group of events of one kind, its subjects, and the path that shows them. */
export function compose(organizationId: string, kind: NoticeKind, events: readonly Event[], now: Date) {
  const { one, many, path, orderBy = () => "" } = kindOf(kind);
  const sorted = events.toSorted((a, b) => (orderBy(a.facts) < orderBy(b.facts) ? -1 : Number(orderBy(a.facts) > orderBy(b.facts))));
  const listed = sorted.slice(0, LISTED);
  const [first] = sorted;
  if (!first) throw new Error("a notification is of an event");
  const group = { items: listed.map(({ facts }) => facts), count: events.length, now };
  const isOne = events.length === 1;
  return {
    ...(isOne ? one(first.facts, now) : many(group)),
    link: `/organizations/${organizationId}${isOne ? path.one(first.subjectId, first.facts) : path.many(group)}`,
    first,
    listed,
    count: events.length,
  };
}
