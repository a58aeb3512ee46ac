import type { Deps } from "#deps";
import { notify, notifyEnd } from "#modules/notifications/events/queries/notify";
import type { FactsOfKind, NoticeKind } from "#modules/notifications/events/rules/kinds";
import { tellEvents } from "#modules/notifications/events/services/tell";
import { world } from "./world";

/** One turn of the job that tells members of what happened. */
export const tell = (now = new Date(), deps: Pick<Deps, "sql" | "config" | "queue"> = world.deps) =>
  tellEvents({ ...deps, clock: () => now }, new AbortController().signal);

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
  await notify(
    world.sql,
    kind,
    world.sql`select ${organizationId}::uuid, ${subjectId}::uuid, ${JSON.stringify(facts)}::jsonb, ${userId}::uuid, ${role}::member_role`,
  );
  return subjectId;
}

/** Writes down that the state of a subject has ended. */
export const endState = (organizationId: string, kind: NoticeKind, subjectId: string) =>
  world.sql`${notifyEnd(world.sql, kind, world.sql`select ${organizationId}::uuid, ${subjectId}::uuid`)}`;
