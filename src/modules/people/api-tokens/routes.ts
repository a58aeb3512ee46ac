import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { Refusal } from "#http/errors";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { respond, respondWithSecret } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { createApiToken, findApiToken, listApiTokens, revokeApiToken } from "./queries";
import { hashApiToken, newApiToken } from "./rules";
import { ApiToken, CreateApiToken, NewApiToken } from "./schema";

const NO_TOKEN = "There is no such API token in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneToken = t.Object({ organizationId: Uuid, apiTokenId: PathId }, { noValidate: true });

export const apiTokens = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/api-tokens", tags: ["API tokens"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body }) => {
        const now = deps.clock();
        if (body.expiresAt && new Date(body.expiresAt) <= now) return respond({ invalid: "body.expiresAt must be in the future." });
        const token = newApiToken();
        const created = await createApiToken(deps.sql, deps.stamps, scope, { ...body, tokenHash: hashApiToken(token) }, now);
        if (created === "outlives") throw new Refusal(403, "An API token that expires may not make one that lives longer: send an earlier expiresAt.");
        if (created === "conflict") return respond(created);
        return respondWithSecret(created, "token", token, `/organizations/${scope.organizationId}/api-tokens/${created.id}`);
      },
      {
        params: InOrganization,
        body: CreateApiToken,
        response: { 201: NewApiToken, 400: Message, 409: EmptyObject },
        detail: {
          operationId: "createApiToken",
          summary: "Make an API token",
          description: "Its text is shown this once. It acts in this organization alone, with its role. 409 when a hundred are live.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listApiTokens(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      role: "ORG_ADMIN",
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(ApiToken), 400: Message },
      detail: { operationId: "listApiTokens", summary: "List API tokens", description: "Newest first, expired ones too; never their text. For ORG_ADMIN." },
    })
    .get("/:apiTokenId", async ({ scope, params }) => respond(await findApiToken(deps.sql, scope.organizationId, params.apiTokenId), NO_TOKEN), {
      role: "ORG_ADMIN",
      params: OneToken,
      response: { 200: ApiToken, 404: NotFound(NO_TOKEN) },
      detail: { operationId: "getApiToken", summary: "Read an API token", description: "Never its text. For ORG_ADMIN." },
    })
    .delete(
      "/:apiTokenId",
      async ({ scope, params, request }) =>
        respond(await revokeApiToken(deps.sql, scope, { id: params.apiTokenId, versions: ifMatch(request.headers) }), NO_TOKEN),
      {
        params: OneToken,
        response: { 204: Empty, 404: NotFound(NO_TOKEN), 412: EmptyObject },
        detail: { operationId: "deleteApiToken", summary: "Revoke an API token", description: "It is refused from now on, on every server." },
      },
    );
