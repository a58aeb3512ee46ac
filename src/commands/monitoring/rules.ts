type Rule = { alert: string; expr: string; for: string; severity: "critical" | "warning"; summary: string; description: string };

/** Each can be acted upon, and says how. Gauges of what the database holds are the same on every server, hence `max`. */
const RULES: Rule[] = [
  {
    alert: "CertitudeDown",
    expr: 'absent(certitude_build_info) or absent(up{job="certitude"} == 1)',
    for: "5m",
    severity: "critical",
    summary: "No Certitude server is scraped.",
    description: "Look at the service's log, then at certitude doctor. If the scrape is refused with 401, METRICS_TOKEN is wrong.",
  },
  {
    alert: "CertitudeErrors",
    expr: 'sum(rate(certitude_http_request_duration_seconds_count{status=~"5.."}[5m])) / sum(rate(certitude_http_request_duration_seconds_count[5m])) > 0.05',
    for: "10m",
    severity: "critical",
    summary: "More than one request in 20 fails.",
    description: "Look at the log for requests of status 500 and 503: the latter mean that the database is away or slow.",
  },
  {
    alert: "CertitudeConnectionsExhausted",
    expr: "certitude_database_waiting > 0",
    for: "10m",
    severity: "warning",
    summary: "Statements have waited for database connections for ten minutes.",
    description: "Look for slow statements in Postgres (pg_stat_activity), or spread the load over more servers.",
  },
  {
    alert: "CertitudeJobLate",
    expr: "max by (name) (certitude_job_late) > 0",
    for: "10m",
    severity: "warning",
    summary: "No server has run the background job {{ $labels.name }} for three of its periods.",
    description: "GET /admin/jobs says when it last ran. With serve --no-jobs, another server has to run the jobs.",
  },
  {
    alert: "CertitudeJobsFailing",
    expr: 'sum by (name) (increase(certitude_job_runs_total{outcome="failed"}[1h])) > 3',
    for: "5m",
    severity: "warning",
    summary: "The background job {{ $labels.name }} fails again and again.",
    description: "GET /admin/jobs says what failed.",
  },
  {
    alert: "CertitudeCertificateExpiresNext",
    expr: 'max(certitude_certificate_expiry_timestamp_seconds{rank="1"}) - time() < 86400',
    for: "15m",
    severity: "warning",
    summary: "An active certificate expires within a day.",
    description: "GET {org}/certs/monitoring/top-expiring names it. Renew it, or retire what is not used any more.",
  },
  {
    alert: "CertitudeServerCertificateExpires",
    expr: "min(certitude_tls_certificate_expiry_timestamp_seconds) - time() < 7 * 86400",
    for: "15m",
    severity: "critical",
    summary: "The server's own certificate expires within a week.",
    description: "Replace the files of TLS_CERT and TLS_KEY; the server reads them again by itself.",
  },
  {
    alert: "CertitudeAgentsSilent",
    expr: 'max(certitude_agents{health="silent"}) > 0',
    for: "1h",
    severity: "warning",
    summary: "{{ $value }} agents have not been seen for a day.",
    description: "Look at these hosts with certitude agent status, or delete the agents of hosts that are gone.",
  },
  {
    alert: "CertitudeDeploymentsHeld",
    expr: "max(certitude_deployments_held) > 0",
    for: "5m",
    severity: "critical",
    summary: "Assignments are held: they were changed in the database, and not by a server.",
    description: "Find out who wrote to the database before certitude secrets trust.",
  },
];

/** Returns Prometheus' rules; JSON is YAML too, and needs no writer of its own. */
export const renderRules = () =>
  JSON.stringify(
    {
      groups: [
        {
          name: "certitude",
          rules: RULES.map(({ alert, expr, for: duration, severity, ...annotations }) => ({ alert, expr, for: duration, labels: { severity }, annotations })),
        },
      ],
    },
    null,
    2,
  );
