import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Nullable, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { SystemKey } from "#modules/governance/ai-systems/schema";

const Min = t.Number({ description: "The least value that is in the range", examples: [0.9] });
const Max = t.Number({ description: "The greatest value that is in the range", examples: [1] });

export const MetricThreshold = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    system: t.String({ description: "The key of the AI system", examples: ["loan-scoring"] }),
    metric: t.String({ description: "The name of the metric", examples: ["accuracy"] }),
    min: Nullable(Min),
    max: Nullable(Max),
    isOutside: t.Boolean({ description: "Whether the newest sample that was judged is outside of the range", examples: [false] }),
    judgedAt: Nullable({ ...DateTime, description: "The time of the newest sample that was judged" }),
    version: Version,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "MetricThreshold" },
);

export const NewMetricThreshold = Body(
  { system: SystemKey, metric: Text({ description: "The name of the metric", examples: ["accuracy"] }), min: t.Optional(Min), max: t.Optional(Max) },
  { title: "NewMetricThreshold" },
);

export const MetricThresholdPatch = Body(
  { min: t.Optional(Nullable(Min)), max: t.Optional(Nullable(Max)) },
  { title: "MetricThresholdPatch", minProperties: 1, examples: [{ min: 0.8 }] },
);
