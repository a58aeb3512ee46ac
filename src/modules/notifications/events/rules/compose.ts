import type { Event } from "./decide";
import { kindOf, type NoticeKind } from "./kinds";

/** Events that a notification names in its data. */
const LISTED = 100;

/** Makes the words of events of one kind that are told together, what they are about, and the path that shows them. */
export function compose(organizationId: string, kind: NoticeKind, events: readonly Event[], now: Date) {
  const { one, many, path, orderBy = () => "" } = kindOf(kind);
  const sorted = events.toSorted((a, b) => (orderBy(a.facts) < orderBy(b.facts) ? -1 : Number(orderBy(a.facts) > orderBy(b.facts))));
  const listed = sorted.slice(0, LISTED);
  const [first] = sorted;
  if (!first) throw new Error("a notification tells of an event");
  const told = { items: listed.map(({ facts }) => facts), count: events.length, now };
  const isOne = events.length === 1;
  return {
    ...(isOne ? one(first.facts, now) : many(told)),
    link: `/organizations/${organizationId}${isOne ? path.one(first.subjectId, first.facts) : path.many(told)}`,
    first,
    listed,
    count: events.length,
  };
}
