import { Kind, Type, TypeRegistry } from "@sinclair/typebox";
import { t } from "elysia";
import { Answer, Body, DateTime, Id, Integer, Moment, Nullable, Text } from "#http/schema";

const MAX_SAMPLES = 10_000;
const MAX_LABELS = 16;

TypeRegistry.Set("Labels", (_, value) => value !== null && typeof value === "object" && !Array.isArray(value) && areLabels(Object.entries(value)));

const areLabels = (entries: [string, unknown][]) => entries.length <= MAX_LABELS && entries.every(([name, value]) => isText(name) && isText(value));
const isText = (value: unknown) => typeof value === "string" && value.length <= 200 && value.trim() !== "" && value.isWellFormed() && !value.includes("\0");

/** Not `Text`, which would trim ten thousand samples once more: `readBatch` trims them. */
const PlainText = (options: object) => Type.Unsafe<string>({ [Kind]: "Text", type: "string", minLength: 1, maxLength: 200, ...options });
const Labels = Type.Unsafe<Record<string, string>>({
  [Kind]: "Labels",
  type: "object",
  additionalProperties: { type: "string", minLength: 1, maxLength: 200 },
  maxProperties: MAX_LABELS,
  description: `must be an object of at most ${MAX_LABELS} texts of 1 to 200 characters`,
  examples: [{ region: "eu-west" }],
});

const SLUG = "^[a-z0-9]([a-z0-9._-]{0,98}[a-z0-9])?$";
export const SystemKey = t.String({
  pattern: SLUG,
  description: "must be the key of an AI system: lower-case letters, digits, dots, dashes and underscores",
  examples: ["loan-scoring"],
});
const MetricName = PlainText({ description: "The name of the metric", examples: ["accuracy"] });

const Sample = Body(
  {
    metric: MetricName,
    value: Type.Number({ description: "What was measured: a finite number", examples: [0.93] }),
    unit: t.Optional(PlainText({ description: "What the value counts: ratio, ms", examples: ["ratio"] })),
    recordedAt: t.Optional({
      ...DateTime,
      description: "Kept to the microsecond; the time of receipt when absent; at most five minutes ahead",
      examples: ["2026-01-02T09:30:00.000Z"],
    }),
    labels: t.Optional(Labels),
  },
  { title: "Sample" },
);

export const IngestMetrics = Body(
  { system: SystemKey, samples: t.Array(Sample, { minItems: 1, maxItems: MAX_SAMPLES, description: "All are taken, or none" }) },
  { title: "IngestMetrics" },
);
export type IngestMetrics = typeof IngestMetrics.static;

export const Ingested = Answer(
  {
    accepted: Integer({ minimum: 0, description: "How many samples are new", examples: [1] }),
    duplicates: Integer({ minimum: 0, description: "How many were there before, or came twice", examples: [0] }),
  },
  { title: "Ingested" },
);

export const AiSystem = Answer(
  {
    id: Id,
    key: t.String({ description: "What its samples name it by; unique in the organization", examples: ["loan-scoring"] }),
    createdAt: { ...DateTime, description: "When its first samples came" },
    lastSampleAt: Nullable({ ...DateTime, description: "The time of its latest sample" }),
  },
  { title: "AiSystem" },
);

export const Metric = Answer(
  {
    metric: t.String({ description: "The name of the metric", examples: ["accuracy"] }),
    unit: Nullable(t.String({ description: "Of the latest sample", examples: ["ratio"] })),
    lastSampleAt: { ...DateTime, description: "The time of the latest sample" },
  },
  { title: "Metric" },
);

export const MetricsQuery = t.Object({
  system: SystemKey,
  metric: Text({ description: "The name of the metric", examples: ["accuracy"] }),
  from: t.Optional(Moment({ description: "The first moment; a day before `to` when absent" })),
  to: t.Optional(Moment({ description: "The moment after the last; now when absent" })),
  step: t.Optional(t.String({ maxLength: 40, description: "How long a step is: seconds (300) or an ISO 8601 duration (PT5M, P1D); an hour when absent" })),
});

const Step = Answer(
  {
    at: { ...DateTime, description: "Where the step begins" },
    min: t.Number({ description: "The least value", examples: [0.91] }),
    max: t.Number({ description: "The greatest value", examples: [0.95] }),
    mean: t.Number({ description: "Of all values", examples: [0.93] }),
    count: Integer({ minimum: 1, description: "How many samples", examples: [12] }),
  },
  { title: "Step" },
);

export const MetricSteps = Answer(
  {
    system: t.String({ description: "The key of the AI system", examples: ["loan-scoring"] }),
    metric: t.String({ description: "The name of the metric", examples: ["accuracy"] }),
    unit: Nullable(t.String({ description: "Of the samples, when all that name one agree", examples: ["ratio"] })),
    from: { ...DateTime, description: "The first moment" },
    to: { ...DateTime, description: "The moment after the last" },
    step: Integer({ minimum: 1, description: "Seconds", examples: [3_600] }),
    items: t.Array(Step, { description: "Steps that hold samples, the earliest first" }),
  },
  { title: "MetricSteps" },
);
