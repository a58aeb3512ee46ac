import { t } from "elysia";
import { Answer, Body, BodyId, DateTime, Nullable, Uuid } from "#http/schema";

const example = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";

export const Domain = Answer(
  {
    domain: t.String({ examples: ["certitude.example"] }),
    organizationId: Nullable({ ...Uuid, description: "null: any organization may prove its names over HTTP" }),
    until: Nullable({ ...DateTime, description: "How long its certificates count; null where staff has decided" }),
    updatedAt: DateTime,
  },
  { title: "IssuanceDomain" },
);

export const PutDomain = Body({ organizationId: Nullable(BodyId({ examples: [example] })) }, { title: "PutIssuanceDomain" });
