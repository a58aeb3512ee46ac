import { t } from "elysia";
import { Answer, DateTime, Integer, Nullable, OneOf, Uuid } from "#http/schema";
import { FRAMEWORKS } from "#modules/governance/frameworks/rules/catalogue";
import { AGGREGATIONS } from "../rules/settings";
import { Bucket, Count, Name } from "./parts";

const Controls = Count("controls");

const statuses = { not_started: Controls, in_progress: Controls, implemented: Controls, not_applicable: Controls };

const FrameworkKey = OneOf(FRAMEWORKS, { description: "Which framework this is about" });

const progress = {
  total: Controls,
  counts: Answer(statuses, { description: "By status" }),
  percent: Integer({ minimum: 0, maximum: 100, description: "Implemented among the applicable ones, rounded down" }),
};

export const FrameworkComplianceProgress = Answer(
  {
    frameworkKey: FrameworkKey,
    ...progress,
    groups: t.Array(Answer({ name: Name("the part of the framework"), ...progress }), { description: "In the framework's order" }),
  },
  { title: "FrameworkComplianceProgressData" },
);

export const ControlStatusTrend = Answer(
  {
    frameworkKey: FrameworkKey,
    bucket: Bucket,
    points: t.Array(Answer({ at: { ...DateTime, description: "The end of the step" }, ...statuses }), { description: "The earliest first" }),
  },
  { title: "ControlStatusTrendData" },
);

export const AiMetricTimeSeries = Answer(
  {
    from: { ...DateTime, description: "The first moment" },
    to: { ...DateTime, description: "The moment after the last" },
    stepSeconds: Integer({ description: "How long a step is" }),
    aggregation: OneOf(AGGREGATIONS, { description: "What a point is of the values of its step" }),
    lowerLimit: Nullable(t.Number({ description: "Of the settings, to be drawn" })),
    upperLimit: Nullable(t.Number({ description: "Of the settings, to be drawn" })),
    series: t.Array(
      Answer({
        systemId: { ...Uuid, description: "The AI system" },
        system: t.String({ description: "Its key" }),
        metric: Name("the metric"),
        points: t.Array(
          Answer({ at: { ...DateTime, description: "Where the step begins" }, value: t.Number({ description: "What the aggregation made of it" }) }),
          { description: "Steps that hold samples, the earliest first" },
        ),
      }),
      { description: "One for each system" },
    ),
  },
  { title: "AiMetricTimeSeriesData" },
);
