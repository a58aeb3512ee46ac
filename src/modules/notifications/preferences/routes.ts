import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { signedIn } from "#guards/signed-in";
import { Refusal } from "#http/errors";
import { ifMatch } from "#http/etag";
import { respond } from "#http/respond";
import { EmptyObject, Message } from "#http/schema";
import { findPreferences } from "./queries";
import { DEFAULT_PREFERENCES, frequenciesOf, type StoredPreferences } from "./rules/preferences";
import { isTimeZone } from "./rules/time";
import { PatchPreferences, PreferencesAnswer } from "./schema";
import { changePreferences } from "./services/change";

export const notificationPreferences = (deps: Deps) =>
  new Elysia({ prefix: "/users/me/notifications/preferences", tags: ["Notifications"] })
    .use(signedIn(deps))
    .get("", async ({ caller }) => respond(toResource((await findPreferences(deps.sql, caller.userId)) ?? DEFAULT_PREFERENCES)), {
      response: { 200: PreferencesAnswer },
      detail: {
        operationId: "getNotificationPreferences",
        summary: "Of which notifications the user gets mail, and when",
        description: "Shows what counts for every kind. The defaults have version 0. The inbox has every notification, whatever is mailed.",
      },
    })
    .patch(
      "",
      async ({ caller, body, request }) => {
        if (body.timeZone !== undefined && !isTimeZone(body.timeZone))
          return respond({ invalid: "body.timeZone must be a name of the IANA time zone database, such as Europe/Berlin." });
        const outcome = await changePreferences(deps, caller.userId, ifMatch(request.headers), () => body);
        if (outcome === "not found") throw new Refusal(401, "the user is gone");
        return outcome === "stale" ? respond(outcome) : respond(toResource(outcome));
      },
      {
        body: PatchPreferences,
        response: { 200: PreferencesAnswer, 400: Message, 412: EmptyObject },
        detail: {
          operationId: "updateNotificationPreferences",
          summary: "Choose of which notifications the user gets mail, and when",
          description: "What is not named stays. A digest that waits comes at the new hour.",
        },
      },
    );

const toResource = ({ mail, version, ...rest }: StoredPreferences) => ({
  json: JSON.stringify({ ...rest, mail: Object.fromEntries(frequenciesOf(mail)), version }),
  version,
});
