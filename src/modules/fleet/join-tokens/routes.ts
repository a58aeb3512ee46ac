import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { respond, respondWithSecret } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { findKeyFault } from "#labels/labels";
import { hashAgentToken, newJoinToken } from "#modules/fleet/agent-access/rules";
import { createJoinToken, deleteJoinToken, findJoinToken, listJoinTokens } from "./queries/join-tokens";
import { replaceCredentials } from "./queries/replacing";
import { CreateJoinToken, JoinToken, NewJoinToken, ReplaceCredentials } from "./schema";

const NO_AGENT = "There is no such agent in this organization.";
const NO_TOKEN = "There is no such join token in this organization.";
const DAY_MS = 86_400_000;
const InOrganization = t.Object({ organizationId: Uuid });
const OneToken = t.Object({ organizationId: Uuid, joinTokenId: PathId }, { noValidate: true });

export const joinTokens = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/join-tokens", tags: ["Agents"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { labels = {}, maxUses = 1, expiresAt } }) => {
        const now = deps.clock();
        const fault = findKeyFault("body.labels", Object.keys(labels)) ?? findExpiryFault(expiresAt, now);
        if (fault !== undefined) return respond({ invalid: fault });
        const token = newJoinToken();
        const wanted = { labels, maxUses, expiresAt: expiresAt ?? new Date(now.getTime() + DAY_MS).toISOString(), tokenHash: hashAgentToken(token) };
        const created = await createJoinToken(deps.sql, deps.stamps, scope, wanted, now);
        if (created === "conflict") return respond(created);
        return respondWithSecret(created, "token", token, `/organizations/${scope.organizationId}/join-tokens/${created.id}`);
      },
      {
        params: InOrganization,
        body: CreateJoinToken,
        response: { 201: NewJoinToken, 400: Message, 409: EmptyObject },
        detail: {
          operationId: "createJoinToken",
          summary: "Make a join token",
          description: "Hosts become agents with it: certitude agent join. Its text is shown this once. 409 when a hundred may still be used.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listJoinTokens(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      role: "ORG_ADMIN",
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(JoinToken), 400: Message },
      detail: {
        operationId: "listJoinTokens",
        summary: "List join tokens",
        description: "Newest first, used and ended ones too; never their text. For ORG_ADMIN.",
      },
    })
    .get("/:joinTokenId", async ({ scope, params }) => respond(await findJoinToken(deps.sql, scope.organizationId, params.joinTokenId), NO_TOKEN), {
      role: "ORG_ADMIN",
      params: OneToken,
      response: { 200: JoinToken, 404: NotFound(NO_TOKEN) },
      detail: { operationId: "getJoinToken", summary: "Read a join token", description: "Never its text. For ORG_ADMIN." },
    })
    .delete(
      "/:joinTokenId",
      async ({ scope, params, request }) =>
        respond(await deleteJoinToken(deps.sql, scope, { id: params.joinTokenId, versions: ifMatch(request.headers) }), NO_TOKEN),
      {
        params: OneToken,
        response: { 204: Empty, 404: NotFound(NO_TOKEN), 412: EmptyObject },
        detail: {
          operationId: "deleteJoinToken",
          summary: "Delete a join token",
          description: "No host joins with it from now on; the agents that it made stay.",
        },
      },
    );

function findExpiryFault(expiresAt: string | undefined, now: Date) {
  if (expiresAt === undefined) return;
  const ahead = Date.parse(expiresAt) - now.getTime();
  if (ahead <= 0) return "body.expiresAt must be in the future.";
  if (ahead > 366 * DAY_MS) return "body.expiresAt must be within a year.";
}

export const agentCredentials = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/agents", tags: ["Agents"] }).use(inOrganization(deps)).post(
    "/:agentId/credentials",
    async ({ scope, params, body: { overlapSeconds = 86_400 } }) => {
      const token = newJoinToken();
      const made = await replaceCredentials(deps.sql, deps.stamps, scope, params.agentId, { overlapSeconds, tokenHash: hashAgentToken(token) }, deps.clock());
      if (made === "not found") return respond(made, NO_AGENT);
      return respondWithSecret(made, "token", token, `/organizations/${scope.organizationId}/join-tokens/${made.id}`);
    },
    {
      params: t.Object({ organizationId: Uuid, agentId: PathId }),
      body: ReplaceCredentials,
      response: { 201: NewJoinToken, 400: Message, 404: NotFound(NO_AGENT) },
      detail: {
        operationId: "replaceCredentials",
        summary: "End all credentials of an agent, and open a new way in",
        description:
          "The answer holds a join token for this agent, this once, good for a day. What the agent has ends when its host joins with that, at the latest after the overlap.",
      },
    },
  );
