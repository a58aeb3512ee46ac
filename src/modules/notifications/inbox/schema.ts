import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Integer, Nullable, OneOf, QueryBoolean, QueryInteger, Text, Uuid } from "#http/schema";
import { KIND_NAMES } from "#modules/notifications/events/rules/kinds";

const STATES = ["open", "snoozed", "acknowledged", "cleared"];

export const Notice = Answer(
  {
    id: Id,
    kind: OneOf(KIND_NAMES, { description: "What happened" }),
    title: t.String({ description: "In a few words" }),
    message: t.String({ description: "In a sentence" }),
    organizationId: Nullable({ ...Uuid, description: "Where it happened" }),
    data: t.Record(t.String(), t.Unknown(), { description: "Facts, such as ids, which depend on the kind" }),
    link: Nullable(t.String({ description: "The path of what it is about" })),
    state: Nullable(OneOf(STATES, { description: "Of what it is about, where that lasts until it ends: null where nothing does" })),
    example: t.Boolean({ description: "Whether the user asked for it, to see one" }),
    readAt: Nullable({ ...DateTime, description: "When it was read" }),
    createdAt: CreatedAt,
  },
  { title: "Notice" },
);

export const NewExample = Body({
  kind: t.Optional(OneOf(KIND_NAMES, { description: "What it is an example of", default: "certificate_expiring" })),
  title: t.Optional(Text({ description: "In place of the kind's", examples: ["A certificate expires soon"] })),
  message: t.Optional(Text({ max: 1_000, description: "In place of the kind's", examples: ["www.example.com expires in 14 days."] })),
});

export const InboxQuery = t.Object({
  page: QueryInteger({ minimum: 0, default: 0 }),
  limit: QueryInteger({ minimum: 1, maximum: 100, default: 10 }),
  unread: t.Optional(QueryBoolean()),
});

export const Inbox = Answer({
  items: t.Array(Notice, { description: "The newest first" }),
  page: Integer({ description: "Which page this is, from 0" }),
  limit: Integer({ description: "How many a page holds at most" }),
  total: Integer({ description: "How many all pages hold" }),
  unread: Integer({ description: "How many of the user's are unread" }),
});

const unread = Integer({ description: "How many are unread now" });
const NoticeEvent = Answer({ ...Notice.properties, unread }, { title: "NoticeEvent" });
const UnreadEvent = Answer({ unread }, { title: "UnreadEvent" });

/** An event as Eden reads it; one that only sets `retry` has no data. */
type ServerEvent = { id?: number; event?: string; retry?: number; data?: typeof NoticeEvent.static | typeof UnreadEvent.static };

export const NoticeStream = t.Unsafe<AsyncGenerator<ServerEvent, void, undefined>>(
  t.Union([NoticeEvent, UnreadEvent], {
    description: "Server-sent events. Their `data` is, of `event: notice`, the notice, its position as `id`; of `event: unread`, how many are unread",
    contentMediaType: "text/event-stream",
    examples: [{ unread: 3 }],
    noValidate: true,
  }),
);

export const MarkRead = Body(
  {
    ids: t.Optional(t.Array(Uuid, { minItems: 1, maxItems: 1_000, description: "These", examples: [["0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"]] })),
    all: t.Optional(t.Literal(true, { description: "All that the user has" })),
  },
  { minProperties: 1, maxProperties: 1 },
);

export const Marked = Answer({ marked: Integer({ description: "How many were unread" }), unread: Integer({ description: "How many are left unread" }) });
