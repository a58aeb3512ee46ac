import { Elysia } from "elysia";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { bearerKey, createKeyCheck } from "#auth/keys";
import { type GatewayCheck, isForwarded } from "#auth/trusted-gateway";
import type { Config } from "#config";
import type { Pool } from "#db/connect";
import { countByDaysLeft } from "#modules/certificates/certificates/queries/counts";
import { Refusal } from "./errors";
import { createRequestDurations } from "./request-durations";

const COUNT_EVERY = 60_000;

export type Metrics = ReturnType<typeof createMetrics>;

/** What Prometheus reads, in a registry of this server's own. */
export function createMetrics({ sql, clock }: { sql: Pool; clock: () => Date }) {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const durations = createRequestDurations();
  registry.registerMetric(durations.metric);
  let inFlight = 0;
  new Gauge({
    name: "certitude_database_connections_max",
    help: "Size of the database connection pool.",
    registers: [registry],
    collect() {
      this.set(sql.options.max);
    },
  });
  new Gauge({
    name: "certitude_http_requests_in_flight",
    help: "HTTP requests that are being answered.",
    registers: [registry],
    collect() {
      this.set(inFlight);
    },
  });
  let countedAt = Number.NEGATIVE_INFINITY;
  new Gauge({
    name: "certitude_certificates",
    help: "Active certificates of all organizations by days left, counted once a minute at most.",
    labelNames: ["days_left"],
    registers: [registry],
    async collect() {
      if (performance.now() - countedAt < COUNT_EVERY) return;
      for (const { bucket, count } of await countByDaysLeft(sql, clock())) this.set({ days_left: bucket }, count);
      countedAt = performance.now();
    },
  });
  return {
    registry,
    begin: () => void inFlight++,
    observe(method: string, route: string, status: number, seconds: number) {
      inFlight--;
      durations.observe(method, route, status, seconds);
    },
  };
}

type Page = { config: Pick<Config, "metricsTokens">; metrics: Metrics; isTrustedGateway: GatewayCheck };

/** The figures are about every organization: for METRICS_TOKEN, or a trusted gateway's own request, none that it passes on. */
export const metricsPage = ({ config, metrics, isTrustedGateway }: Page) => {
  const isMetricsToken = createKeyCheck(config.metricsTokens);
  return new Elysia().get(
    "/metrics",
    async ({ request }) => {
      const { headers } = request;
      const isAllowed = headers.has("authorization") ? isMetricsToken(bearerKey(request)) : !isForwarded(headers) && isTrustedGateway(request);
      if (!isAllowed) throw new Refusal(401, "there is no METRICS_TOKEN, nor a trusted gateway's own request");
      return new Response(await metrics.registry.metrics(), { headers: { "content-type": metrics.registry.contentType } });
    },
    { detail: { hide: true } },
  );
};
