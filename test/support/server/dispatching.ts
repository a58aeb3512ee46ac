import type { Deps } from "#deps";
import { dispatchEvents } from "#modules/notifications/dispatch/services/dispatch";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import type { FactsOfKind, NoticeKind } from "#modules/notifications/events/rules/kinds";
import { world } from "./world";

/** One turn of the job that dispatches events. */
export const dispatch = (now = new Date(), deps: Pick<Deps, "sql" | "config" | "queue"> = world.deps) =>
  dispatchEvents({ ...deps, clock: () => now }, new AbortController().signal);

type Given<Kind extends NoticeKind> = {
  kind: Kind;
  facts: FactsOfKind[Kind];
  subjectId?: string;
  userId?: string | null;
  role?: "ORG_ADMIN" | "ORG_MEMBER" | null;
};

/** Writes down an event, as a cause does. */
export async function addEvent<Kind extends NoticeKind>(
  organizationId: string,
  { kind, facts, subjectId = crypto.randomUUID(), userId = null, role = "ORG_MEMBER" }: Given<Kind>,
) {
  await recordEvents(
    world.sql,
    kind,
    world.sql`select ${organizationId}::uuid, ${subjectId}::uuid, ${JSON.stringify(facts)}::jsonb, ${userId}::uuid, ${role}::member_role`,
  );
  return subjectId;
}

/** Writes down that the state of a subject has ended. */
export const endState = (organizationId: string, kind: NoticeKind, subjectId: string) =>
  world.sql`${recordEnds(world.sql, kind, world.sql`select ${organizationId}::uuid, ${subjectId}::uuid`)}`;
