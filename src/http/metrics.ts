import { Elysia } from "elysia";
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import { bearerKey, createKeyCheck } from "#auth/keys";
import { type GatewayCheck, isForwarded } from "#auth/trusted-gateway";
import type { Cluster } from "#cluster/channel";
import type { Config } from "#config";
import type { Pool } from "#db/connect";
import { countByDaysLeft, nextExpiries } from "#modules/certificates/certificates/queries/counts";
import { countHealth, countStates, countUnproven } from "#modules/fleet/deployments/queries";
import type { JobRuns } from "#modules/platform/jobs/services/job-runs";
import { Refusal } from "./errors";
import { addJobMetrics } from "./job-metrics";
import { addProcessMetrics } from "./process-metrics";
import { createReading } from "./reading";
import { createRequestDurations } from "./request-durations";

const COUNT_EVERY = 60_000;
/** The number of next expiries that are shown. */
const RANKS = 10;
const TOPIC = "metrics";

type MetricsDeps = { config: Pick<Config, "requestTimeout">; sql: Pool; clock: () => Date; cluster: Cluster; jobRuns: JobRuns };
export type Metrics = ReturnType<typeof createMetrics>;

/** The metrics of this process, in a registry of its own. The series of workers have the label `worker`, so that they stay apart. */
export function createMetrics({ config, sql, clock, cluster, jobRuns }: MetricsDeps) {
  const patienceMs = config.requestTimeout / 2;
  const registry = new Registry();
  if (cluster.worker) registry.setDefaultLabels({ worker: cluster.worker });
  cluster.answer(TOPIC, () => registry.metrics());
  collectDefaultMetrics({ register: registry });
  const durations = createRequestDurations();
  registry.registerMetric(durations.metric);
  addJobMetrics({ registry, jobRuns, patienceMs, isFirst: cluster.isFirst });
  let inFlight = 0;
  addProcessMetrics({ registry, sql, tlsExpiry: () => tlsExpiry });
  new Gauge({
    name: "certitude_http_requests_in_flight",
    help: "HTTP requests that are being answered.",
    registers: [registry],
    collect() {
      this.set(inFlight);
    },
  });
  let tlsExpiry: Date | undefined;
  addCount({
    name: "certitude_certificates",
    help: "Active certificates of all organizations by days left, counted once a minute at most.",
    label: "days_left",
    count: async () => (await countByDaysLeft(sql, clock())).map(({ bucket, count }) => [bucket, count]),
  });
  addCount({
    name: "certitude_certificate_expiry_timestamp_seconds",
    help: "When the active certificates of all organizations expire that expire next, in seconds since 1970, by rank: 1 is the soonest; counted once a minute at most.",
    label: "rank",
    count: async () => (await nextExpiries(sql, clock(), RANKS)).map((at, index) => [`${index + 1}`, at / 1_000]),
  });
  addCount({
    name: "certitude_deployments",
    help: "Assignments of all organizations by what their agents last reported; removing: those of them that wait to be gone from their hosts; counted once a minute at most.",
    label: "state",
    count: async () => (await countStates(sql)).map(({ state, count }) => [state, count]),
  });
  addCount({
    name: "certitude_deployments_held",
    help: "Assignments of all organizations that are held, because they were changed in the database and not by a server; counted once a minute at most.",
    count: async () => [[undefined, await countUnproven(sql)]],
  });
  addCount({
    name: "certitude_agents",
    help: "Agents of all organizations: late are those not seen for 15 minutes, silent for a day or never; counted once a minute at most.",
    label: "health",
    count: async () => (await countHealth(sql, clock())).map(({ health, count }) => [health, count]),
  });

  /**
   * Adds a gauge of what the database holds. One worker counts, once a minute at most; what it counted last stays where the
   * database is away.
   */
  function addCount({
    name,
    help,
    label,
    count,
  }: {
    name: string;
    help: string;
    label?: string;
    count: () => Promise<[value: string | undefined, count: number][]>;
  }) {
    const read = createReading(count, { everyMs: COUNT_EVERY, patienceMs });
    new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [registry],
      async collect() {
        const counts = cluster.isFirst ? await read() : undefined;
        if (!counts) return;
        this.reset();
        for (const [value, counted] of counts.value) this.set(label === undefined || value === undefined ? {} : { [label]: value }, counted);
      },
    });
  }

  /** Returns the figures of every worker. One that is silent for a second is left out. */
  async function page() {
    const [own, others] = await Promise.all([registry.metrics(), cluster.ask<string>(TOPIC)]);
    return others.length === 0 ? own : mergePages([own, ...others]);
  }

  return {
    page,
    contentType: registry.contentType,
    noteTlsCertificate: ({ notAfter }: { notAfter: Date }) => {
      tlsExpiry = notAfter;
    },
    begin: () => void inFlight++,
    observe(method: string, route: string, status: number, seconds: number) {
      inFlight--;
      durations.observe(method, route, status, seconds);
    },
  };
}

type Page = { config: Pick<Config, "metricsTokens">; metrics: Metrics; isTrustedGateway: GatewayCheck };

/** The series of one name stand together, below its description. */
function mergePages(pages: string[]) {
  const series = new Map<string, string[]>();
  for (const block of pages.flatMap((page) => page.trimEnd().split("\n\n"))) {
    const [help, type, ...lines] = block.split("\n");
    const description = `${help}\n${type}`;
    series.set(description, [...(series.get(description) ?? []), ...lines]);
  }
  return `${Array.from(series, ([description, lines]) => [description, ...lines].join("\n")).join("\n\n")}\n`;
}

/**
 * Metrics are about every organization: they need METRICS_TOKEN, or a request that a trusted gateway makes itself and does not only
 * forward.
 */
export const metricsPage = ({ config, metrics, isTrustedGateway }: Page) => {
  const isMetricsToken = createKeyCheck(config.metricsTokens);
  return new Elysia().get(
    "/metrics",
    async ({ request }) => {
      const { headers } = request;
      const isAllowed = headers.has("authorization") ? isMetricsToken(bearerKey(request)) : !isForwarded(headers) && isTrustedGateway(request);
      if (!isAllowed) throw new Refusal(401, "there is no METRICS_TOKEN, nor a trusted gateway's own request");
      return new Response(await metrics.page(), { headers: { "content-type": metrics.contentType } });
    },
    { detail: { hide: true } },
  );
};
