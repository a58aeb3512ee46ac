import { Gauge, type Registry } from "prom-client";
import type { Pool } from "#db/connect";
import { version } from "../../package.json";

type ProcessMetricsDeps = { registry: Registry; sql: Pool; tlsExpiry: () => Date | undefined };

/** Adds what this process knows of itself: its release, its database connections and its TLS certificate. */
export function addProcessMetrics({ registry, sql, tlsExpiry }: ProcessMetricsDeps) {
  const registers = [registry];
  new Gauge({ name: "certitude_build_info", help: "1, with the release and the Bun that it runs on.", labelNames: ["version", "bun"], registers }).set(
    { version, bun: Bun.version },
    1,
  );
  const gauges: [name: string, help: string, read: () => number | undefined][] = [
    ["certitude_database_connections_max", "Size of the database connection pool.", () => sql.options.max],
    [
      "certitude_database_connections_busy",
      "Database connections that statements, transactions or sessions hold.",
      () => Math.min(sql.demand(), sql.options.max),
    ],
    [
      "certitude_database_waiting",
      "Statements, transactions and sessions beyond the database connections that there are: they wait, or share one.",
      () => Math.max(0, sql.demand() - sql.options.max),
    ],
    [
      "certitude_tls_certificate_expiry_timestamp_seconds",
      "When the certificate of TLS_CERT expires that this process serves, in seconds since 1970; absent without TLS_CERT.",
      () => tlsExpiry() && Number(tlsExpiry()) / 1_000,
    ],
  ];
  for (const [name, help, read] of gauges)
    new Gauge({
      name,
      help,
      registers,
      collect() {
        const value = read();
        if (value === undefined) this.remove();
        else this.set(value);
      },
    });
}
