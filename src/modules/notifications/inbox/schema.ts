import { t } from "elysia";
import { Answer, Body, DateTime, Integer, Nullable, OneOf, QueryBoolean, QueryInteger, Text, Uuid } from "#http/schema";
import { KIND_NAMES } from "#modules/notifications/events/rules/kinds";

const STATES = ["open", "snoozed", "acknowledged", "cleared"];

export const Notice = Answer(
  {
    id: Uuid,
    kind: OneOf(KIND_NAMES),
    title: t.String(),
    message: t.String(),
    organizationId: Nullable(Uuid),
    data: t.Record(t.String(), t.Unknown()),
    link: Nullable(t.String({ description: "The path of what it is about" })),
    state: Nullable(OneOf(STATES, { description: "Of what it tells, where that lasts until it ends: null where nothing does" })),
    example: t.Boolean(),
    readAt: Nullable(DateTime),
    createdAt: DateTime,
  },
  { title: "Notice" },
);

export const NewExample = Body({
  kind: t.Optional(OneOf(KIND_NAMES, { default: "certificate_expiring" })),
  title: t.Optional(Text({ examples: ["A certificate expires soon"] })),
  message: t.Optional(Text({ max: 1_000, examples: ["www.example.com expires in 14 days."] })),
});

export const InboxQuery = t.Object({
  page: QueryInteger({ minimum: 0, default: 0 }),
  limit: QueryInteger({ minimum: 1, maximum: 100, default: 10 }),
  unread: t.Optional(QueryBoolean()),
});

export const Inbox = Answer({
  items: t.Array(Notice),
  page: Integer(),
  limit: Integer(),
  total: Integer({ description: "Of all pages" }),
  unread: Integer(),
});

export const MarkRead = Body(
  {
    ids: t.Optional(t.Array(Uuid, { minItems: 1, maxItems: 1_000, examples: [["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"]] })),
    all: t.Optional(t.Literal(true)),
  },
  { minProperties: 1, maxProperties: 1 },
);

export const Marked = Answer({ marked: Integer({ description: "How many were unread" }), unread: Integer() });
