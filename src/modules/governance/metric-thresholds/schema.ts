import { t } from "elysia";
import { Answer, Body, DateTime, Integer, Nullable, Text, Uuid } from "#http/schema";
import { SystemKey } from "#modules/governance/ai-systems/schema";

const Min = t.Number({ description: "The least value that is in the range", examples: [0.9] });
const Max = t.Number({ description: "The greatest value that is in the range", examples: [1] });

export const MetricThreshold = Answer(
  {
    id: Uuid,
    organizationId: Uuid,
    system: t.String({ examples: ["loan-scoring"] }),
    metric: t.String({ examples: ["accuracy"] }),
    min: Nullable(Min),
    max: Nullable(Max),
    isOutside: t.Boolean({ description: "Whether the newest sample that was judged is outside of the range", examples: [false] }),
    judgedAt: Nullable({ ...DateTime, description: "The time of the newest sample that was judged" }),
    version: Integer({ examples: [1] }),
    createdAt: DateTime,
    updatedAt: DateTime,
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
