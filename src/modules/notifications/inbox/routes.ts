import { Elysia, t } from "elysia";
import { bearerToken } from "#auth/authenticate";
import type { Deps } from "#deps";
import { signedIn } from "#guards/signed-in";
import { Refusal } from "#http/errors";
import { jsonText } from "#http/respond";
import { Message } from "#http/schema";
import { limitHeaders } from "#limits/limits";
import { exampleOf } from "#modules/notifications/events/rules/kinds";
import { addExample, markAllRead, markRead, readInbox } from "./queries";
import { Inbox, InboxQuery, Marked, MarkRead, NewExample, Notice, NoticeStream } from "./schema";
import { noticeStream, STREAM_HEADERS } from "./services/stream";

const EXAMPLES_A_MINUTE = 10;

export const notifications = (deps: Deps) =>
  new Elysia({ prefix: "/users/me/notifications", tags: ["Notifications"] })
    .use(signedIn(deps))
    .post(
      "/examples",
      async ({ caller, body }) => {
        const { kind = "certificate_expiring", ...words } = body;
        const added = await addExample(deps.sql, caller.userId, { kind, ...exampleOf(kind), ...words }, EXAMPLES_A_MINUTE);
        if ("json" in added) return jsonText(added.json, 201);
        const headers = limitHeaders("examples", { quota: EXAMPLES_A_MINUTE, window: 60 }, { remaining: 0, reset: added.retryAfter });
        throw new Refusal(429, `There are ${EXAMPLES_A_MINUTE} examples a minute. Try again in a moment.`, {
          ...headers,
          "retry-after": String(added.retryAfter),
        });
      },
      {
        body: NewExample,
        response: { 201: Notice, 400: Message },
        detail: {
          operationId: "createExampleNotification",
          summary: "Trigger a single example in-app notification",
          description: "Only to the caller; ten a minute.",
        },
      },
    )
    .get("/inbox", async ({ caller, query }) => jsonText(await readInbox(deps.sql, caller.userId, { ...query, unread: query.unread ?? false })), {
      query: InboxQuery,
      response: { 200: Inbox, 400: Message },
      detail: {
        operationId: "readInbox",
        summary: "Read a page of in-app notifications",
        description: "Newest first; `unread=true` shows the unread ones alone.",
      },
    })
    .post("/read", ({ caller, body }) => (body.ids ? markRead(deps.sql, caller.userId, body.ids) : markAllRead(deps.sql, caller.userId)), {
      body: MarkRead,
      response: { 200: Marked, 400: Message },
      detail: { operationId: "markNotificationsRead", summary: "Mark notifications as read", description: "Some by their ids, or all of them." },
    })
    .get(
      "/stream",
      ({ caller, request }) => {
        if (request.method === "HEAD") return new Response(null, { headers: STREAM_HEADERS }) as never; // a stream has no length to wait for
        const token = bearerToken(request) ?? "";
        const isStillSignedIn = async () => (await deps.tokens.verify(token)) !== undefined;
        return noticeStream(deps, { userId: caller.userId, lastEventId: request.headers.get("last-event-id"), isStillSignedIn }) as never;
      },
      {
        headers: t.Object({ "last-event-id": t.Optional(t.String({ description: "The id of the last event that was seen" })) }),
        response: {
          200: NoticeStream,
        },
        detail: {
          operationId: "streamNotifications",
          summary: "Follow notifications as they come",
          description: "`Last-Event-ID` resumes where a client left off.",
        },
      },
    );
