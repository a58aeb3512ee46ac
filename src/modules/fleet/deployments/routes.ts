import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { page, readCursor, UUID_PART } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { Message, Page, Uuid } from "#http/schema";
import { compileSelector } from "#labels/selector";
import { listDeployments, summarizeFleet } from "./queries";
import { DeploymentQuery, FleetDeployment, FleetSummary, SummaryQuery } from "./schema";

const InOrganization = t.Object({ organizationId: Uuid });

export const deployments = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId", tags: ["Agents"] })
    .use(inOrganization(deps))
    .get(
      "/deployments",
      async ({ scope, query }) => {
        const { organizationId } = scope;
        const { limit, cursor, selector, ...filter } = query;
        const compiled = selector === undefined ? { path: undefined } : compileSelector(selector);
        if ("fault" in compiled) return respond({ invalid: `query.selector ${compiled.fault}.` });
        const position = { limit, after: readCursor(cursor, UUID_PART, UUID_PART) };
        const list = () => listDeployments(deps.sql, organizationId, filter, compiled.path, position);
        return page(await (compiled.path === undefined ? list() : deps.lanes.run(organizationId, list)), limit);
      },
      {
        params: InOrganization,
        query: DeploymentQuery,
        response: { 200: Page(FleetDeployment), 400: Message },
        detail: {
          operationId: "listFleetDeployments",
          summary: "List what is assigned on all agents",
          description: "With what the agents last reported; by agent, and there the oldest first.",
        },
      },
    )
    .get(
      "/fleet/summary",
      async ({ scope, query }) => {
        const { organizationId } = scope;
        const { lateAfterMinutes, silentAfterMinutes } = query;
        if (silentAfterMinutes < lateAfterMinutes) return respond({ invalid: "query.silentAfterMinutes must be at least query.lateAfterMinutes." });
        const health = { lateAfterMinutes, silentAfterMinutes, now: deps.clock() };
        return jsonText(await deps.lanes.run(organizationId, () => summarizeFleet(deps.sql, organizationId, health, deps.stamps.trusted().length > 0)));
      },
      {
        params: InOrganization,
        query: SummaryQuery,
        response: { 200: FleetSummary, 400: Message },
        detail: {
          operationId: "summarizeFleet",
          summary: "How the fleet is",
          description: "Assignments by state and store, agents by when they were last seen, those that fell silent, and the oldest drift.",
        },
      },
    );
