import { t } from "elysia";
import { Answer, Body, CreatedAt, Id, Text } from "#http/schema";

const key = { id: Id, name: t.String({ description: "What it is for", examples: ["Production collectors"] }), createdAt: CreatedAt };

export const IngestKey = Answer(key, { title: "IngestKey" });

export const NewIngestKey = Answer(
  {
    ...key,
    key: t.String({
      description: "Shown this once. It is the bearer token, and the secret of Standard Webhooks signatures.",
      examples: ["whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"],
    }),
  },
  { title: "NewIngestKey" },
);

export const CreateIngestKey = Body({ name: Text({ description: "What it is for", examples: ["Production collectors"] }) }, { title: "CreateIngestKey" });
