import { CERTIFICATE_KINDS } from "./certificates";
import { FLEET_KINDS } from "./fleet";
import { GOVERNANCE_KINDS } from "./governance";
import type { Condition, KindOf } from "./kind";
import { PEOPLE_KINDS } from "./people";
import { RENEWAL_KINDS } from "./renewals";
import { STAMPING_KINDS } from "./stamping";

/** All kinds of events: a cause records one with `recordEvents`, and a job dispatches it. */
const KINDS = { ...CERTIFICATE_KINDS, ...RENEWAL_KINDS, ...FLEET_KINDS, ...GOVERNANCE_KINDS, ...PEOPLE_KINDS, ...STAMPING_KINDS };

export type NoticeKind = keyof typeof KINDS;
export const KIND_NAMES = Object.keys(KINDS) as NoticeKind[];

type FactsOf<Kind> = Kind extends KindOf<infer Facts> ? Facts : never;
/** The facts that a cause records of an event, by kind. */
export type FactsOfKind = { [Kind in NoticeKind]: FactsOf<(typeof KINDS)[Kind]> };

/** Facts come out of the database as JSON: of a kind, they are that kind's. */
export const kindOf = (kind: NoticeKind) => KINDS[kind] as unknown as KindOf<Record<string, unknown>>;

/** The state that an event of this kind begins or ends. */
export const conditionOf = (kind: NoticeKind): Condition | undefined => kindOf(kind).begins?.condition ?? kindOf(kind).ends?.condition;

/** The kinds that begin each state, and those that end it. */
export const BEGINNINGS: Record<string, NoticeKind[]> = {};
export const ENDINGS: Record<string, NoticeKind[]> = {};
for (const kind of KIND_NAMES) {
  const { begins, ends } = kindOf(kind);
  if (begins) BEGINNINGS[begins.condition] = [...(BEGINNINGS[begins.condition] ?? []), kind];
  if (ends) ENDINGS[ends.condition] = [...(ENDINGS[ends.condition] ?? []), kind];
}

/** The words of a kind's example. */
export const exampleOf = (kind: NoticeKind) => kindOf(kind).one(kindOf(kind).example, new Date("2030-01-01T12:00:00Z"));
