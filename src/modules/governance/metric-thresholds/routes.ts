import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { respond, respondCreated } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { createThreshold, deleteThreshold, findThreshold, listThresholds, updateThreshold } from "./queries/thresholds";
import { findFault } from "./rules";
import { MetricThreshold, MetricThresholdPatch, NewMetricThreshold } from "./schema";

const NO_THRESHOLD = "There is no such threshold in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneThreshold = t.Object({ organizationId: Uuid, thresholdId: PathId });

export const metricThresholds = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/ai-governance/metric-thresholds", tags: ["AI governance"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { system, metric, min = null, max = null } }) => {
        const invalid = findFault({ min, max });
        if (invalid) return respond({ invalid });
        const created = await createThreshold(deps.sql, scope, { system, metric, min, max });
        if (created === "conflict") return respond(created);
        return respondCreated(created, `/organizations/${scope.organizationId}/ai-governance/metric-thresholds/${created.id}`);
      },
      {
        params: InOrganization,
        body: NewMetricThreshold,
        response: { 201: MetricThreshold, 400: Message, 409: EmptyObject },
        detail: {
          operationId: "createMetricThreshold",
          summary: "Set the range of a metric",
          description:
            "Admins are notified within two minutes when a sample is outside of it. Samples count by their own time, whatever their labels: one that comes after a newer one was judged is not. 409 where the metric has a range already, or the organization two hundred.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listThresholds(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(MetricThreshold), 400: Message },
      detail: { operationId: "listMetricThresholds", summary: "List the ranges of metrics", description: "Newest first." },
    })
    .get("/:thresholdId", async ({ scope, params }) => respond(await findThreshold(deps.sql, scope.organizationId, params.thresholdId), NO_THRESHOLD), {
      params: OneThreshold,
      response: { 200: MetricThreshold, 404: NotFound(NO_THRESHOLD) },
      detail: { operationId: "getMetricThreshold", summary: "Get the range of a metric" },
    })
    .patch(
      "/:thresholdId",
      async ({ scope, params, body, request }) =>
        respond(await updateThreshold(deps.sql, scope, { id: params.thresholdId, versions: ifMatch(request.headers) }, body), NO_THRESHOLD),
      {
        params: OneThreshold,
        body: MetricThresholdPatch,
        response: { 200: MetricThreshold, 400: Message, 404: NotFound(NO_THRESHOLD), 412: EmptyObject },
        detail: {
          operationId: "updateMetricThreshold",
          summary: "Change the range of a metric",
          description: "null removes an end; one must stay. The newest sample is judged once more. What changes nothing keeps the version.",
        },
      },
    )
    .delete(
      "/:thresholdId",
      async ({ scope, params, request }) =>
        respond(await deleteThreshold(deps.sql, scope, { id: params.thresholdId, versions: ifMatch(request.headers) }), NO_THRESHOLD),
      {
        params: OneThreshold,
        response: { 204: Empty, 404: NotFound(NO_THRESHOLD), 412: EmptyObject },
        detail: { operationId: "deleteMetricThreshold", summary: "Delete the range of a metric", description: "It is judged no more." },
      },
    );
