import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { inOrganization } from "../../../api";
import { Loaded } from "../../../parts/empty";
import { useRead } from "../../../reading";
import type { Widget } from "../types";
import { ConnectorHealth, NotificationFeed } from "./activity";
import { CertificatesByIssuer, ExpiringTimeline, KeyAlgorithms, TopExpiring } from "./certificates";
import { AgentHealth, AssignmentDrift, TrustStoreCoverage } from "./fleet";
import { ComplianceProgress, ControlTrend, MetricSeries } from "./governance";

// biome-ignore lint/suspicious/noExplicitAny: each view names the data of its kind
const VIEWS: Record<string, ComponentType<{ of: any }>> = {
  expiring_certificates_timeline: ExpiringTimeline,
  top_expiring_certificates: TopExpiring,
  certificates_by_issuer: CertificatesByIssuer,
  key_algorithm_distribution: KeyAlgorithms,
  agent_health: AgentHealth,
  assignment_drift: AssignmentDrift,
  trust_store_coverage: TrustStoreCoverage,
  framework_compliance_progress: ComplianceProgress,
  control_status_trend: ControlTrend,
  ai_metric_time_series: MetricSeries,
  notification_feed: NotificationFeed,
  connector_health: ConnectorHealth,
};
const REFRESH_SECONDS = 300;

/** The data of a widget, read again as often as its settings say. */
export function WidgetView({ widget: { id, kind, title, settings } }: { widget: Widget }) {
  const reading = useRead(inOrganization("core", "widgets", id, "data"));
  const seconds = Number(settings.refreshSeconds ?? REFRESH_SECONDS);
  useEffect(() => {
    const timer = setInterval(() => void reading.reload(), seconds * 1_000);
    return () => clearInterval(timer);
  }, [reading, seconds]);
  const View = VIEWS[kind];
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard
    <section class="widget-body" tabIndex={0} aria-label={`What ${title} shows`}>
      {View && <Loaded from={reading}>{({ data }) => <View of={data} />}</Loaded>}
    </section>
  );
}
