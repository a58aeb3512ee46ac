import { t } from "elysia";
import { Answer, Body, DateTime, Integer, Nullable, Text, Uuid } from "#http/schema";

const Name = Text({ examples: ["Example Ltd"] });
const SEATS = { minimum: 1, maximum: 1_000_000 };

export const Organization = Answer(
  {
    id: Uuid,
    name: t.String({ examples: ["Example Ltd"] }),
    seatLimit: Nullable(Integer({ examples: [50] })),
    seatsTaken: Integer({ minimum: 0, description: "By members, and by invitations until they expire" }),
    version: Integer({ examples: [1] }),
    createdAt: DateTime,
  },
  { title: "Organization" },
);

export const NewOrganization = Body(
  {
    name: Name,
    seatLimit: t.Optional(Integer({ ...SEATS, description: "How many members it may have; no limit when absent", examples: [50] })),
  },
  { title: "NewOrganization" },
);

export const OrganizationPatch = Body(
  {
    name: t.Optional(Name),
    seatLimit: t.Optional(Nullable(Integer({ ...SEATS, description: "For platform staff: how many members it may have; null is no limit" }))),
  },
  { title: "OrganizationPatch", minProperties: 1 },
);
