import { t } from "elysia";
import { Answer, DateTime, Moment, Nullable, OneOf, PageQuery, Text, Uuid } from "#http/schema";
import { isUuid } from "#uuid";
import type { EventFilter } from "./queries";
import { ACTOR_TYPES } from "./rules";

const who = {
  type: OneOf(ACTOR_TYPES),
  id: t.Optional(Uuid),
  role: t.Optional(OneOf(["ORG_ADMIN", "ORG_MEMBER"])),
};

export const Actor = Answer({ ...who, via: t.Optional(Answer(who, { description: "Who sent the header that names the actor" })) }, { title: "Actor" });

export const AuditEvent = Answer(
  {
    id: Uuid,
    at: DateTime,
    actor: Actor,
    action: t.String({ examples: ["certificate.revoked"] }),
    targetType: t.String({ examples: ["certificate"] }),
    targetId: t.String(),
    requestId: Nullable(t.String({ examples: ["0b6e3a52-7f0a-4b1e-9c55-2f7f4d1c8e90"] })),
    details: t.Record(t.String(), t.Unknown(), { examples: [{ reason: "superseded" }] }),
  },
  { title: "AuditEvent" },
);

export const AuditQuery = t.Object({
  ...PageQuery,
  action: t.Optional(Text({ description: "Only this action, such as certificate.revoked" })),
  actor: t.Optional(Text({ description: "Only what this one did: an id, or a type such as user" })),
  targetId: t.Optional(Text({ description: "Only what was done to this" })),
  from: t.Optional(Moment({ description: "Not before this moment" })),
  to: t.Optional(Moment({ description: "Before this moment" })),
});

/** The filter of a query, or what is wrong with it. */
export function readFilter({ actor, from, to, action, targetId }: Omit<typeof AuditQuery.static, "limit" | "cursor">): EventFilter | { invalid: string } {
  if (from !== undefined && to !== undefined && Date.parse(from) > Date.parse(to)) return { invalid: "query.from must not be after query.to." };
  const type = ACTOR_TYPES.find((each) => each === actor);
  if (actor !== undefined && !type && !isUuid(actor)) return { invalid: `query.actor must be an id (a UUID) or one of ${ACTOR_TYPES.join(", ")}.` };
  return {
    ...(action !== undefined && { action }),
    ...(actor !== undefined && { actor: type ? { type } : { id: actor.toLowerCase() } }),
    ...(targetId !== undefined && { targetId: isUuid(targetId) ? targetId.toLowerCase() : targetId }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}
