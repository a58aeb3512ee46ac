import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ingestKey } from "#guards/ingest-key";
import { page, readCursor } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { Message, NotFound, Page, PageQuery, Uuid } from "#http/schema";
import { listMetrics } from "./queries/metric-names";
import { listAiSystems, storeSamples, summarizeMetric } from "./queries/metrics";
import { readRange } from "./rules/range";
import { readBatch } from "./rules/samples";
import { AiSystem, Ingested, IngestMetrics, Metric, MetricSteps, MetricsQuery, SystemKey } from "./schema";

const NO_SYSTEM = "There is no such AI system in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const KEY_PART = /^[a-z0-9._-]{1,100}$/;
const NAME_PART = { test: (text: string) => text.length <= 200 && text.isWellFormed() && !text.includes("\0") };

export const metricsIngest = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/ai-governance/ingest/metrics", tags: ["AI governance"] }).use(ingestKey(deps)).post(
    "",
    async ({ scope, body, headers, status }) => {
      const batch = readBatch(body, deps.clock());
      if ("invalid" in batch) return respond(batch);
      return status(202, await storeSamples(deps.sql, scope, batch, headers["webhook-id"] ?? null));
    },
    {
      params: InOrganization,
      body: IngestMetrics,
      response: { 202: Ingested, 400: Message },
      detail: {
        operationId: "ingestMetrics",
        summary: "Ingest AI system metrics",
        description:
          "All samples or none. A sample is identified by system, metric, recordedAt and labels: sent again, it is a duplicate, and the first one stays. Without recordedAt only a repeated webhook-id tells a retry from news. An AI system is made when its first sample comes.",
      },
    },
  );

export const aiSystems = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/ai-governance", tags: ["AI governance"] })
    .use(inOrganization(deps))
    .get(
      "/systems",
      async ({ scope, query }) =>
        page(await listAiSystems(deps.sql, scope.organizationId, { limit: query.limit, after: readCursor(query.cursor, KEY_PART)?.[0] }), query.limit),
      {
        params: InOrganization,
        query: t.Object(PageQuery),
        response: { 200: Page(AiSystem), 400: Message },
        detail: { operationId: "listAiSystems", summary: "List AI systems", description: "Those that have sent metrics, by key." },
      },
    )
    .get(
      "/metric-names",
      async ({ scope, query: { system, limit, cursor } }) => {
        const rows = await listMetrics(deps.sql, scope.organizationId, system, { limit, after: readCursor(cursor, NAME_PART)?.[0] });
        return rows ? page(rows, limit) : respond(undefined, NO_SYSTEM);
      },
      {
        params: InOrganization,
        query: t.Object({ system: SystemKey, ...PageQuery }),
        response: { 200: Page(Metric), 400: Message, 404: NotFound(NO_SYSTEM) },
        detail: { operationId: "listMetrics", summary: "List metrics of an AI system", description: "Those that it has sent samples of, by name." },
      },
    )
    .get(
      "/metrics",
      async ({ scope, query }) => {
        const range = readRange(query, deps.clock());
        if ("invalid" in range) return respond(range);
        const answer = await deps.lanes.run(scope.organizationId, () => summarizeMetric(deps.sql, scope.organizationId, query, range));
        return answer === undefined ? respond(answer, NO_SYSTEM) : jsonText(answer);
      },
      {
        params: InOrganization,
        query: MetricsQuery,
        response: { 200: MetricSteps, 400: Message, 404: NotFound(NO_SYSTEM) },
        detail: {
          operationId: "summarizeMetric",
          summary: "Summarize a metric in steps",
          description: "At most 10,000 steps, counted from `from`. Steps without samples are left out.",
        },
      },
    );
