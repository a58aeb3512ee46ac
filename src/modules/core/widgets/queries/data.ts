import type { Sql } from "#db/connect";
import type { Kind } from "../rules/kinds";
import type { Ask } from "../rules/settings";
import { connectorHealth, notificationFeed } from "./sources/activity";
import { agentHealth, assignmentDrift, trustStoreCoverage } from "./sources/agents";
import { byIssuer, expiringTimeline, keyAlgorithms, topExpiring } from "./sources/certificates";
import { complianceProgress, metricSeries, statusTrend } from "./sources/governance";

/** The query of each kind's data. The catalogue checked the settings when they were stored. */
const SOURCES: Record<Kind, (sql: Sql, ask: Ask, settings: never) => Promise<string | undefined>> = {
  expiring_certificates_timeline: expiringTimeline,
  top_expiring_certificates: topExpiring,
  certificates_by_issuer: byIssuer,
  key_algorithm_distribution: keyAlgorithms,
  agent_health: agentHealth,
  assignment_drift: assignmentDrift,
  trust_store_coverage: trustStoreCoverage,
  framework_compliance_progress: complianceProgress,
  control_status_trend: statusTrend,
  ai_metric_time_series: metricSeries,
  notification_feed: notificationFeed,
  connector_health: connectorHealth,
};

/** The whole answer as JSON. */
export async function readData(sql: Sql, ask: Ask, kind: Kind, settings: Record<string, unknown>) {
  const data = await SOURCES[kind](sql, ask, settings as never);
  if (data === undefined) throw new Error(`The widget ${kind} has no data.`);
  return `{"kind":"${kind}","generatedAt":"${ask.now.toISOString()}","data":${data}}`;
}
