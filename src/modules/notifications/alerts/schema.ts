import { t } from "elysia";
import { Body, Text } from "#http/schema";

const reason = t.Optional(Text({ max: 500, description: "Why, for the audit trail", examples: ["The renewal is ordered."] }));

export const Acknowledge = Body({ reason }, { title: "AcknowledgeNotification" });

export const Snooze = Body(
  {
    until: t.String({
      format: "date",
      pattern: "^\\d{4}-\\d\\d-\\d\\d$",
      description: "The day on which members are notified once more, in UTC: a later one, at most a year from now",
      examples: ["2030-01-15"],
    }),
    reason,
  },
  { title: "SnoozeNotification" },
);
