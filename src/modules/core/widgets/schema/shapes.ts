import { t } from "elysia";
import { Answer, CreatedAt, DateTime, Id, Nullable, OneOf } from "#http/schema";
import { CertificatesByIssuer, ExpiringCertificatesTimeline, KeyAlgorithmDistribution, TopExpiringCertificates } from "./certificate-shapes";
import { AgentHealth, AssignmentDrift, TrustStoreCoverage } from "./fleet-shapes";
import { AiMetricTimeSeries, ControlStatusTrend, FrameworkComplianceProgress } from "./governance-shapes";
import { Name } from "./parts";

const NotificationFeed = Answer(
  {
    items: t.Array(
      Answer({
        id: Id,
        kind: t.String({ description: "What happened" }),
        title: t.String({ description: "In a few words" }),
        createdAt: CreatedAt,
        readAt: Nullable({ ...DateTime, description: "When it was read" }),
      }),
      { description: "The newest first" },
    ),
  },
  { title: "NotificationFeedData" },
);

const ConnectorHealth = Answer(
  {
    items: t.Array(
      Answer({
        id: Id,
        connectorKey: t.String({ description: "The connection's kind" }),
        name: Name("the connection"),
        status: OneOf(["ok", "failed", "unsupported", "untested"], { description: "How its last test ended" }),
        lastVerifiedAt: Nullable({ ...DateTime, description: "When that was" }),
        lastError: Nullable(t.String({ description: "Why it failed" })),
      }),
      { description: "At most 200, by name" },
    ),
  },
  { title: "ConnectorHealthData" },
);

/** The shapes of the kinds' data, in the order of the catalogue. */
export const Shape = t.Union([
  ExpiringCertificatesTimeline,
  TopExpiringCertificates,
  CertificatesByIssuer,
  KeyAlgorithmDistribution,
  AgentHealth,
  AssignmentDrift,
  TrustStoreCoverage,
  FrameworkComplianceProgress,
  ControlStatusTrend,
  AiMetricTimeSeries,
  NotificationFeed,
  ConnectorHealth,
]);
