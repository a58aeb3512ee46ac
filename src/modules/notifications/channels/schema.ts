import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Integer, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Uuid, Version } from "#http/schema";
import { KIND_NAMES } from "#modules/notifications/events/rules/kinds";
import { SEVERITIES } from "./rules/routes";

const ROLES = ["ORG_ADMIN", "ORG_MEMBER"] as const;
const STATES = ["pending", "delivered", "failed"] as const;
const CONNECTION = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";

const Kinds = t.Array(OneOf(KIND_NAMES), {
  minItems: 1,
  maxItems: 100,
  description: "Only what is of these kinds; null: of any",
  examples: [["certificate_expiring", "certificate_expired"]],
});
const TARGET = "One of: a connection (webhook, slack, microsoft_teams, pagerduty or smtp), some members, or all members with a role";
const target = {
  connectionId: t.Optional({ ...Uuid, description: "The connection that it goes out by" }),
  userIds: t.Optional(t.Array(Uuid, { minItems: 1, maxItems: 100, uniqueItems: true, description: "Members who get it as mail", examples: [[CONNECTION]] })),
  role: t.Optional(OneOf(ROLES, { description: "ORG_MEMBER: all members, admins too" })),
};
const GivenTarget = Body(target, {
  title: "NotificationTarget",
  minProperties: 1,
  maxProperties: 1,
  description: TARGET,
  examples: [{ connectionId: CONNECTION }],
});

const Name = Text({ description: "What people call it", examples: ["Expiries of production"] });
const Severity = OneOf(SEVERITIES, { description: "At least this severe", default: "info" });
const Selector = Text({
  max: 2_000,
  description: "Only what is about certificates with such labels, or about agents with them and their assignments, in the grammar of Kubernetes",
  examples: ["env=prod,tier!=edge"],
});

const given = {
  kinds: t.Optional(Nullable(Kinds)),
  severity: t.Optional(Severity),
  selector: t.Optional(Nullable(Selector)),
  enabled: t.Optional(t.Boolean({ default: true, description: "Whether anything goes out by it" })),
};

export const NewRoute = Body({ name: Name, target: GivenTarget, ...given }, { title: "NewNotificationRoute" });

export const RoutePatch = Body({ name: t.Optional(Name), target: t.Optional(GivenTarget), ...given }, { title: "NotificationRoutePatch", minProperties: 1 });

export const NotificationRoute = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    name: t.String({ description: "What people call it", examples: ["Expiries of production"] }),
    kinds: Nullable(Kinds),
    severity: Severity,
    selector: Nullable(
      t.String({ description: "Only what is about certificates or agents with such labels; null: about any", examples: ["env=prod,tier!=edge"] }),
    ),
    target: Answer(target, { description: "Where it goes", examples: [{ connectionId: CONNECTION }] }),
    targetMissing: t.Boolean({ description: "The connection was deleted, or none of the users is a member any more" }),
    enabled: t.Boolean({ description: "Whether anything goes out by it" }),
    version: Version,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "NotificationRoute" },
);

const Status = Nullable(Integer({ description: "The HTTP status, or the code of a mail server", examples: [200] }));
const Reason = Nullable(t.String({ description: "Why it failed", examples: ["It answered 503."] }));

export const Delivery = Answer(
  {
    id: Id,
    routeId: { ...Uuid, description: "The route that it goes by" },
    connectionId: { ...Uuid, description: "The connection that it goes out by" },
    state: OneOf(STATES, { description: "failed: given up" }),
    test: t.Boolean({ description: "Whether a person asked for it, to try the route" }),
    notification: Answer(
      {
        kind: OneOf(KIND_NAMES, { description: "What happened" }),
        severity: OneOf(SEVERITIES, { description: "How much it matters" }),
        title: t.String({ description: "In a few words" }),
        message: t.String({ description: "In a sentence" }),
        link: t.String({ description: "The address of what it is about" }),
      },
      { description: "What is said" },
    ),
    attempts: t.Array(Answer({ at: { ...DateTime, description: "When it was tried" }, status: Status, reason: Reason }), { description: "The last hundred" }),
    lastStatus: Status,
    reason: Reason,
    nextAttemptAt: Nullable({ ...DateTime, description: "While it is pending" }),
    createdAt: CreatedAt,
    endedAt: Nullable({ ...DateTime, description: "When it was delivered or given up" }),
  },
  { title: "NotificationDelivery" },
);

export const DeliveryState = OneOf(STATES, { description: "Only deliveries in this state" });

export const RouteTest = Answer(
  {
    outcome: OneOf(["delivered", "failed", "unsupported"], { description: "unsupported: nothing was tried, and the message says why" }),
    status: Status,
    message: t.String({ description: "What came of it", examples: ["It was delivered."] }),
    deliveryId: Nullable({ ...Uuid, description: "The delivery that was made; null where nothing was tried" }),
  },
  { title: "NotificationRouteTest" },
);
