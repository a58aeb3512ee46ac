import { t } from "elysia";
import { Answer, DateTime, Id, Moment, Nullable, OneOf, PageQuery, Text, Uuid } from "#http/schema";
import { isUuid } from "#text/uuid";
import { ACTOR_TYPES, type EventFilter } from "./rules";

const who = {
  type: OneOf(ACTOR_TYPES, { description: "What kind of caller; anonymous: refused before it was known, or the holder of a link" }),
  id: t.Optional({ ...Uuid, description: "Which one" }),
  role: t.Optional(OneOf(["ORG_ADMIN", "ORG_MEMBER"], { description: "In which role it acted" })),
};

export const Actor = Answer(
  {
    ...who,
    via: t.Optional(Answer(who, { description: "Who sent the header that names the actor" })),
    userId: t.Optional({ ...Uuid, description: "The user behind an API token: who made it, or the token that made it. Absent where none is known" }),
  },
  { title: "Actor", description: "Who did it" },
);

export const AuditEvent = Answer(
  {
    id: Id,
    at: { ...DateTime, description: "When" },
    actor: Actor,
    action: t.String({ description: "What was done: the target's type and a word", examples: ["certificate.revoked"] }),
    targetType: t.String({ description: "What kind of thing it was done to", examples: ["certificate"] }),
    targetId: t.String({ description: "Which one" }),
    requestId: Nullable(
      t.String({ description: "x-request-id of the request; null where no request did it", examples: ["0b6e3a52-7f0a-4b1e-9c55-2f7f4d1c8e90"] }),
    ),
    details: t.Record(t.String(), t.Unknown(), { description: "What depends on the action; never a secret", examples: [{ reason: "superseded" }] }),
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

/** Returns the filter of a query, or what is wrong with it. */
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
