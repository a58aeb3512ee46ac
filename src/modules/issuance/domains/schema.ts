import { t } from "elysia";
import { Answer, Body, BodyId, DateTime, Nullable, UpdatedAt, Uuid } from "#http/schema";

const example = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";

export const Domain = Answer(
  {
    domain: t.String({ description: "A registrable domain, in lower case and A-labels", examples: ["certitude.example"] }),
    organizationId: Nullable({ ...Uuid, description: "null: any organization may prove its names over HTTP" }),
    until: Nullable({ ...DateTime, description: "How long its certificates count; null where staff has decided" }),
    updatedAt: UpdatedAt,
  },
  { title: "IssuanceDomain" },
);

export const PutDomain = Body(
  { organizationId: Nullable(BodyId({ description: "The one organization whose names below it may be proved over HTTP; null: any", examples: [example] })) },
  { title: "PutIssuanceDomain" },
);
