import { t } from "elysia";
import { Answer, Body, CreatedAt, Id, OrganizationId, Text } from "#http/schema";
import { Actor } from "#modules/people/audit/schema";

const link = {
  id: Id,
  organizationId: OrganizationId,
  name: t.String({ description: "Whose calendar it is for", examples: ["Operations calendar"] }),
  createdBy: Actor,
  createdAt: CreatedAt,
};

export const CalendarLink = Answer(link, { title: "CalendarLink" });

export const NewCalendarLink = Answer(
  {
    ...link,
    url: t.String({
      format: "uri",
      description: "Shown this once; who has it can read the calendar",
      examples: [
        "https://certitude.example/organizations/0193b3c0-0000-7000-8000-00000000d350/certificates.ics?key=cal_uJx3Zb0m8bqOaV1rC9p2nH5sKd7eLw4tGyQfXkMiR6A",
      ],
    }),
  },
  { title: "NewCalendarLink" },
);

export const CreateCalendarLink = Body(
  { name: Text({ description: "Whose calendar it is for", examples: ["Operations calendar"] }) },
  { title: "CreateCalendarLink" },
);
