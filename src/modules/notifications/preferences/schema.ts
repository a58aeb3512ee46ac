import { t } from "elysia";
import { Answer, Body, Integer, Nullable, OneOf, Text, UpdatedAt } from "#http/schema";
import { MAIL_FREQUENCIES } from "#modules/notifications/events/rules/kind";
import { KIND_NAMES, type NoticeKind } from "#modules/notifications/events/rules/kinds";

const frequency = OneOf(MAIL_FREQUENCIES, { description: "Mail at once, in the daily digest, or none" });
const byKind = <Schema>(schema: Schema) => Object.fromEntries(KIND_NAMES.map((kind) => [kind, schema])) as Record<NoticeKind, Schema>;
const digestHour = Integer({ minimum: 0, maximum: 23, description: "When the daily digest comes, in that time zone", examples: [8] });
const TIME_ZONE = { description: "A name of the IANA time zone database", examples: ["Europe/Berlin"] };

export const PatchPreferences = Body(
  {
    timeZone: t.Optional(Text({ max: 64, ...TIME_ZONE })),
    digestHour: t.Optional(digestHour),
    mail: t.Optional(
      Body(byKind(t.Optional(frequency)), {
        minProperties: 1,
        description: "By kind; what is not named stays",
        examples: [{ certificate_renewed: "off", agent_silent: "daily" }],
      }),
    ),
  },
  { title: "PatchPreferences", minProperties: 1 },
);

export const PreferencesAnswer = Answer(
  {
    timeZone: t.String(TIME_ZONE),
    digestHour,
    mail: Answer(byKind(frequency), { description: "Of every kind: mail at once, in the daily digest, or none" }),
    version: Integer({ description: "0: the defaults" }),
    updatedAt: Nullable(UpdatedAt),
  },
  { title: "NotificationPreferences" },
);
