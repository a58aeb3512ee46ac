import { t } from "elysia";
import { Answer, Body, CreatedAt, Id, Integer, Nullable, Text, Version } from "#http/schema";

const Name = Text({ description: "What people call it", examples: ["Example Ltd"] });
const SEATS = { minimum: 1, maximum: 1_000_000 };

export const Organization = Answer(
  {
    id: Id,
    name: t.String({ description: "What people call it", examples: ["Example Ltd"] }),
    seatLimit: Nullable(Integer({ description: "How many members it may have; null is no limit", examples: [50] })),
    seatsTaken: Integer({ minimum: 0, description: "By members, and by invitations until they expire" }),
    version: Version,
    createdAt: CreatedAt,
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
