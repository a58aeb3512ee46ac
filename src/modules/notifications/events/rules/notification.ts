import type { KindOf, Words } from "./kind";

/** A notification that goes to a user, a role, or both; of which events. */
export type NewNotification = Words & {
  id: string;
  /** The first of its subjects with their facts, and how many there are. */
  data: { count: number; items: ({ id: string } & Record<string, unknown>)[] };
  link: string;
  subjectId: string | null;
  userId: string | null;
  role: KindOf<unknown>["audience"] | null;
  /** Recipients because of routes, whomever it concerns. */
  routedUserIds: string[];
  routedRole: KindOf<unknown>["audience"] | null;
  eventIds: string[];
};
/** A notification, and the notice of it in the inbox of a member. */
export type Addressed = { notificationId: string; userId: string; noticeId: string };
