type Target = { expr: string; legend: string };
type Panel = { title: string; unit: string; kind: "timeseries" | "stat"; targets: Target[] };

const one = (title: string, unit: string, expr: string, legend = ""): Panel => ({ title, unit, kind: "stat", targets: [{ expr, legend }] });
const series = (title: string, unit: string, ...targets: Target[]): Panel => ({ title, unit, kind: "timeseries", targets });

const DURATION = "certitude_http_request_duration_seconds";
const quantile = (share: number) => `histogram_quantile(${share}, sum by (le) (rate(${DURATION}_bucket[5m])))`;

const PANELS: Panel[] = [
  one("Release", "none", "count by (version) (certitude_build_info)", "{{version}}"),
  one("Next certificate expires", "dateTimeFromNow", 'max(certitude_certificate_expiry_timestamp_seconds{rank="1"}) * 1000'),
  one("Server's own certificate", "dateTimeFromNow", "min(certitude_tls_certificate_expiry_timestamp_seconds) * 1000"),
  one("Assignments held", "none", "max(certitude_deployments_held)"),
  series("Certificates by days left", "none", { expr: "max by (days_left) (certitude_certificates)", legend: "{{days_left}}" }),
  series("Agents", "none", { expr: "max by (health) (certitude_agents)", legend: "{{health}}" }),
  series("Deployments", "none", { expr: "max by (state) (certitude_deployments)", legend: "{{state}}" }),
  series("Requests", "reqps", { expr: `sum by (status) (rate(${DURATION}_count[5m]))`, legend: "{{status}}" }),
  series("Duration of requests", "s", { expr: quantile(0.5), legend: "half" }, { expr: quantile(0.99), legend: "99 of 100" }),
  series(
    "Database connections",
    "none",
    { expr: "sum(certitude_database_connections_busy)", legend: "busy" },
    { expr: "sum(certitude_database_connections_max)", legend: "all" },
    { expr: "sum(certitude_database_waiting)", legend: "waiting" },
  ),
  series("Background jobs: since success", "s", { expr: "max by (name) (certitude_job_seconds_since_success)", legend: "{{name}}" }),
  series("Queues", "none", { expr: "max by (name, state) (certitude_job_queue_jobs)", legend: "{{name}} {{state}}" }),
  series("Memory", "bytes", { expr: "process_resident_memory_bytes", legend: "{{instance}}" }),
];

const [COLUMNS, WIDTH, HEIGHT] = [4, 6, 8];
const datasource = { type: "prometheus", uid: "$datasource" };

/** Returns a Grafana dashboard, to import as it is: it asks which Prometheus it reads. */
export const renderDashboard = () =>
  JSON.stringify(
    {
      uid: "certitude",
      title: "Certitude",
      schemaVersion: 39,
      refresh: "1m",
      time: { from: "now-24h", to: "now" },
      templating: { list: [{ name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus" }] },
      panels: PANELS.map(({ title, unit, kind, targets }, index) => ({
        id: index + 1,
        type: kind,
        title,
        datasource,
        gridPos: { x: (index % COLUMNS) * WIDTH, y: Math.floor(index / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
        fieldConfig: { defaults: { unit }, overrides: [] },
        targets: targets.map(({ expr, legend }, at) => ({ refId: String.fromCharCode(65 + at), datasource, expr, legendFormat: legend })),
      })),
    },
    null,
    2,
  );
