import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageAfter } from "#http/pagination";
import { jsonText, respond, respondWithSecret } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, Text, Uuid } from "#http/schema";
import { findBulkFault, findKeyFault, MAX_LABELS } from "#labels/labels";
import { compileSelector } from "#labels/selector";
import { hashAgentToken, newAgentToken } from "#modules/fleet/agent-access/rules";
import { createAgent, deleteAgent, findAgent, listAgents, renameAgent } from "./queries/agents";
import { updateLabels } from "./queries/labels";
import { Agent, AgentPatch, BulkLabelReport, BulkLabelUpdate, EnrolledAgent, NewAgent } from "./schema";

const NO_AGENT = "There is no such agent in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneAgent = t.Object({ organizationId: Uuid, agentId: Uuid });

export const agents = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/agents", tags: ["Agents"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { name, labels = {} } }) => {
        const invalid = findKeyFault("body.labels", Object.keys(labels));
        if (invalid !== undefined) return respond({ invalid });
        const token = newAgentToken();
        const created = await createAgent(deps.sql, deps.stamps, scope, { name, labels, tokenHash: hashAgentToken(token) });
        return respondWithSecret(created, "token", token, `/organizations/${scope.organizationId}/agents/${created.id}`);
      },
      {
        params: InOrganization,
        body: NewAgent,
        response: { 201: EnrolledAgent, 400: Message },
        detail: { operationId: "createAgent", summary: "Enrol an agent", description: "The answer holds the agent's token, this once." },
      },
    )
    .get(
      "",
      async ({ scope, query }) => {
        const selector = query.selector === undefined ? { path: undefined } : compileSelector(query.selector);
        if ("fault" in selector) return respond({ invalid: `query.selector ${selector.fault}.` });
        const list = () => listAgents(deps.sql, scope.organizationId, selector.path, pageAfter(query));
        return page(await (selector.path === undefined ? list() : deps.lanes.run(scope.organizationId, list)), query.limit);
      },
      {
        params: InOrganization,
        query: t.Object({
          ...PageQuery,
          selector: t.Optional(
            Text({
              max: 2_000,
              description: "Only agents with such labels, in the grammar of Kubernetes: =, ==, !=, in, notin, key and !key",
              examples: ["env=prod,tier!=edge,zone in (zurich-1,zurich-2)"],
            }),
          ),
        }),
        response: { 200: Page(Agent), 400: Message },
        detail: { operationId: "listAgents", summary: "List agents", description: "The oldest first." },
      },
    )
    .get("/:agentId", async ({ scope, params }) => respond(await findAgent(deps.sql, scope.organizationId, params.agentId), NO_AGENT), {
      params: OneAgent,
      response: { 200: Agent, 400: Message, 404: NotFound(NO_AGENT) },
      detail: { operationId: "getAgent", summary: "Get one agent" },
    })
    .patch(
      "/:agentId",
      async ({ scope, params, body, request }) =>
        respond(await renameAgent(deps.sql, scope, { id: params.agentId, versions: ifMatch(request.headers) }, body.name), NO_AGENT),
      {
        params: OneAgent,
        body: AgentPatch,
        response: { 200: Agent, 400: Message, 404: NotFound(NO_AGENT), 412: EmptyObject },
        detail: { operationId: "updateAgent", summary: "Rename an agent", description: "Labels are changed by the bulk update of labels, for one agent too." },
      },
    )
    .delete(
      "/:agentId",
      async ({ scope, params, request }) => respond(await deleteAgent(deps.sql, scope, { id: params.agentId, versions: ifMatch(request.headers) }), NO_AGENT),
      {
        params: OneAgent,
        response: { 204: Empty, 400: Message, 404: NotFound(NO_AGENT), 412: EmptyObject },
        detail: { operationId: "deleteAgent", summary: "Delete an agent", description: "With its assignments; its token is refused from then on." },
      },
    );

export const fleetOperations = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/fleet-operations", tags: ["Agents"] }).use(inOrganization(deps)).post(
    "/bulk-label-update",
    async ({ scope, body }) => {
      const invalid = findBulkFault(body);
      if (invalid !== undefined) return respond({ invalid });
      const { agentIds, selector = {}, set = {}, unset = [], dryRun = false } = body;
      const { json, overfull } = await updateLabels(deps.sql, scope, agentIds ? { agentIds } : { selector }, { set, unset, isDryRun: dryRun });
      if (overfull === null) return jsonText(json);
      return respond({ invalid: `The agent ${overfull} would have more than ${MAX_LABELS} labels. No agent was changed.` });
    },
    {
      params: InOrganization,
      body: BulkLabelUpdate,
      response: { 200: BulkLabelReport, 400: Message },
      detail: { operationId: "bulkUpdateLabels", summary: "Bulk update labels for selected agents", description: "All of them change, or none." },
    },
  );
