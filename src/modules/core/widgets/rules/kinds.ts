import type { Field } from "#catalogue/fields";
import catalogue from "./widgets.json";

export const KINDS = [
  "expiring_certificates_timeline",
  "top_expiring_certificates",
  "certificates_by_issuer",
  "key_algorithm_distribution",
  "agent_health",
  "assignment_drift",
  "trust_store_coverage",
  "framework_compliance_progress",
  "control_status_trend",
  "ai_metric_time_series",
  "notification_feed",
  "connector_health",
] as const;
export type Kind = (typeof KINDS)[number];

type WidgetKind = { key: string; displayName: string; settings: Field[]; defaultSize: { width: number; height: number } };

export const WIDGETS: readonly WidgetKind[] = catalogue;

export function widgetOf(kind: string): WidgetKind {
  const widget = WIDGETS.find((each) => each.key === kind);
  if (!widget) throw new Error(`There is no widget ${kind} in the catalogue.`);
  return widget;
}
