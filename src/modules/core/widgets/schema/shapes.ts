import { t } from "elysia";
import { Answer, DateTime, Integer, Nullable, OneOf, Uuid } from "#http/schema";
import { ObservedAt } from "#modules/fleet/assignments/schema/history";
import { FRAMEWORKS } from "#modules/governance/frameworks/rules/catalogue";
import { AGGREGATIONS, BUCKETS } from "../rules/settings";

const Count = Integer({ minimum: 0 });
const Name = t.String();
const days = { certificateId: Uuid, commonName: Name, expiresAt: DateTime, daysRemaining: Integer() };

const ExpiringCertificatesTimeline = Answer(
  { bucket: OneOf(BUCKETS), expired: Nullable(Count), buckets: t.Array(Answer({ start: DateTime, count: Count })) },
  { title: "ExpiringCertificatesTimelineData" },
);

const TopExpiringCertificates = Answer(
  { items: t.Array(Answer({ ...days, severity: OneOf(["critical", "warning", "ok"]) })) },
  { title: "TopExpiringCertificatesData" },
);

const CertificatesByIssuer = Answer(
  { total: Count, issuers: t.Array(Answer({ issuer: Name, count: Count })), others: Nullable(Count) },
  { title: "CertificatesByIssuerData" },
);

const KeyAlgorithmDistribution = Answer(
  {
    total: Count,
    algorithms: t.Array(
      Answer({
        name: Name,
        size: Nullable(Integer({ description: "Bits" })),
        curve: Nullable(t.String()),
        count: Count,
        isWeak: Nullable(t.Boolean()),
      }),
    ),
  },
  { title: "KeyAlgorithmDistributionData" },
);

const health = { online: Count, late: Count, silent: Count };
const AgentHealth = Answer(
  {
    total: Count,
    ...health,
    groups: t.Array(Answer({ name: Name, total: Count, ...health })),
    agents: t.Array(
      Answer({
        agentId: Uuid,
        name: Name,
        status: OneOf(["online", "late", "silent"]),
        platform: Nullable(t.String()),
        agentVersion: Nullable(t.String()),
        lastSeenAt: Nullable(DateTime),
      }),
      { description: "At most 200, those longest silent first" },
    ),
  },
  { title: "AgentHealthData" },
);

const AssignmentDrift = Answer(
  {
    total: Count,
    items: t.Array(
      Answer({
        assignmentId: Uuid,
        agentId: Uuid,
        agentName: Name,
        certificateId: Uuid,
        commonName: Name,
        trustStoreType: t.String(),
        enabled: t.Boolean(),
        version: Integer(),
        updatedAt: DateTime,
        reason: OneOf(["never_reported", "failed", "drifted", "refused", "not_installed", "not_removed", "other_certificate", "outdated"]),
        message: Nullable(t.String()),
        reportedAt: Nullable(DateTime),
        observedAt: ObservedAt,
      }),
      { description: "At most 100, the oldest first" },
    ),
  },
  { title: "AssignmentDriftData" },
);

const TrustStoreCoverage = Answer(
  {
    rows: t.Array(Answer({ key: t.String(), displayName: Name })),
    columns: t.Array(t.String(), { description: "Platforms of agents" }),
    cells: t.Array(Answer({ row: t.String(), column: t.String(), assignments: Count, agents: Count })),
  },
  { title: "TrustStoreCoverageData" },
);

const statuses = { not_started: Count, in_progress: Count, implemented: Count, not_applicable: Count };
const progress = { total: Count, counts: Answer(statuses), percent: Integer({ minimum: 0, maximum: 100 }) };
const FrameworkComplianceProgress = Answer(
  { frameworkKey: OneOf(FRAMEWORKS), ...progress, groups: t.Array(Answer({ name: Name, ...progress })) },
  { title: "FrameworkComplianceProgressData" },
);

const ControlStatusTrend = Answer(
  { frameworkKey: OneOf(FRAMEWORKS), bucket: OneOf(BUCKETS), points: t.Array(Answer({ at: DateTime, ...statuses })) },
  { title: "ControlStatusTrendData" },
);

const AiMetricTimeSeries = Answer(
  {
    from: DateTime,
    to: DateTime,
    stepSeconds: Integer(),
    aggregation: OneOf(AGGREGATIONS),
    lowerLimit: Nullable(t.Number()),
    upperLimit: Nullable(t.Number()),
    series: t.Array(Answer({ systemId: Uuid, system: Name, metric: Name, points: t.Array(Answer({ at: DateTime, value: t.Number() })) })),
  },
  { title: "AiMetricTimeSeriesData" },
);

const NotificationFeed = Answer(
  { items: t.Array(Answer({ id: Uuid, kind: t.String(), title: t.String(), createdAt: DateTime, readAt: Nullable(DateTime) })) },
  { title: "NotificationFeedData" },
);

const ConnectorHealth = Answer(
  {
    items: t.Array(
      Answer({
        id: Uuid,
        connectorKey: t.String(),
        name: t.String(),
        status: OneOf(["ok", "failed", "unsupported", "untested"]),
        lastVerifiedAt: Nullable(DateTime),
        lastError: Nullable(t.String()),
      }),
      { description: "At most 200, by name" },
    ),
  },
  { title: "ConnectorHealthData" },
);

/** What the kinds' data look like, in the order of the catalogue. */
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
