import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { signedIn } from "#guards/signed-in";
import { requestId } from "#http/exchange";
import { jsonText, respond } from "#http/respond";
import { Conflict, Message, NotFound, PathId } from "#http/schema";
import { Notice } from "#modules/notifications/inbox/schema";
import { type Change, changeAlerts } from "./queries";
import { endOfSnooze } from "./rules";
import { Acknowledge, Snooze } from "./schema";

const NO_NOTICE = "There is no such notification in your inbox.";
const OneNotice = t.Object({ notificationId: PathId });
const ANSWERS = { 200: Notice, 400: Message, 404: NotFound(NO_NOTICE), 409: Conflict };

/** Operations on the states that notices stand for. */
export const alerts = (deps: Deps) => {
  async function change(userId: string, noticeId: string, request: Request, given: Change) {
    const outcome = await changeAlerts(deps.sql, { userId, noticeId, requestId: requestId(request) }, given, deps.clock());
    return outcome !== "not found" && "json" in outcome ? jsonText(outcome.json) : respond(outcome, NO_NOTICE);
  }
  return new Elysia({ prefix: "/users/me/notifications/:notificationId", tags: ["Notifications"] })
    .use(signedIn(deps))
    .post(
      "/acknowledge",
      ({ caller, params, body: { reason = null }, request }) =>
        change(caller.userId, params.notificationId, request, { action: "notification.acknowledged", state: "acknowledged", until: null, reason }),
      {
        params: OneNotice,
        body: Acknowledge,
        response: ANSWERS,
        detail: {
          operationId: "acknowledgeNotification",
          summary: "Acknowledge what a notification stands for",
          description: "No member is notified of it again until it has ended. 409 where the notification stands for nothing, or that has ended.",
        },
      },
    )
    .post(
      "/snooze",
      ({ caller, params, body: { until: day, reason = null }, request }) => {
        const until = endOfSnooze(day, deps.clock());
        if ("invalid" in until) return respond(until);
        return change(caller.userId, params.notificationId, request, { action: "notification.snoozed", state: "snoozed", until, reason });
      },
      {
        params: OneNotice,
        body: Snooze,
        response: ANSWERS,
        detail: {
          operationId: "snoozeNotification",
          summary: "Hear of what a notification stands for on a later day",
          description:
            "No member is notified of it until that day; then it is open, and members are notified once more. Of a certificate that expires before, they are notified at once.",
        },
      },
    )
    .post(
      "/reopen",
      ({ caller, params, body: { reason = null }, request }) =>
        change(caller.userId, params.notificationId, request, { action: "notification.reopened", state: "open", until: null, reason }),
      {
        params: OneNotice,
        body: Acknowledge,
        response: ANSWERS,
        detail: {
          operationId: "reopenNotification",
          summary: "Take an acknowledgement or a snooze back",
          description: "Members are notified of what comes next.",
        },
      },
    );
};
