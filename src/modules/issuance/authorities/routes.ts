import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { untilGivenUp } from "#http/given-up";
import { page, pageBefore } from "#http/pagination";
import { isFailure, respond, respondCreated } from "#http/respond";
import { Conflict, Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { findAuthority, listAuthorities } from "./queries/authorities";
import { Authority, AuthorityPatch, CreatedAuthority, NewAuthority, SignedCertificate } from "./schema";
import { changeAuthority, deleteAuthority } from "./services/change";
import { createAuthority } from "./services/create";
import { activateByCertificate } from "./services/import";

const NO_AUTHORITY = "There is no such authority in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneAuthority = t.Object({ organizationId: Uuid, authorityId: PathId });

export const authorities = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/authorities", tags: ["Issuance"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body, request }) => {
        const created = await createAuthority(deps, scope, body, { at: new URL(request.url).origin, signal: untilGivenUp(request, deps.config) });
        if (isFailure(created)) return respond(created);
        return respondCreated(created, `/organizations/${scope.organizationId}/authorities/${created.id}`);
      },
      {
        params: InOrganization,
        body: NewAuthority,
        response: { 201: CreatedAuthority, 400: Message, 404: Message },
        detail: {
          operationId: "createAuthority",
          summary: "Create a certificate authority",
          description: "Its key is sealed and never returned. Its certificate, and those above it, are certificates of the organization, too.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listAuthorities(deps.sql, scope.organizationId, pageBefore(query), deps.clock()), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(Authority), 400: Message },
      detail: { operationId: "listAuthorities", summary: "List certificate authorities", description: "Newest first." },
    })
    .get(
      "/:authorityId",
      async ({ scope, params }) => respond(await findAuthority(deps.sql, scope.organizationId, params.authorityId, deps.clock()), NO_AUTHORITY),
      {
        params: OneAuthority,
        response: { 200: Authority, 400: Message, 404: NotFound(NO_AUTHORITY) },
        detail: { operationId: "getAuthority", summary: "Get one certificate authority" },
      },
    )
    .patch(
      "/:authorityId",
      async ({ scope, params, body, request }) =>
        respond(await changeAuthority(deps, scope, { id: params.authorityId, versions: ifMatch(request.headers) }, body), NO_AUTHORITY),
      {
        params: OneAuthority,
        body: AuthorityPatch,
        response: { 200: Authority, 400: Message, 404: NotFound(NO_AUTHORITY), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "updateAuthority",
          summary: "Update a certificate authority",
          description: "What it has issued stays as it is. What it says already changes nothing.",
        },
      },
    )
    .post(
      "/:authorityId/certificate",
      async ({ scope, params, body, request }) =>
        respond(await activateByCertificate(deps, scope, { id: params.authorityId, versions: ifMatch(request.headers) }, body.pem), NO_AUTHORITY),
      {
        params: OneAuthority,
        body: SignedCertificate,
        response: { 200: Authority, 400: Message, 404: NotFound(NO_AUTHORITY), 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "activateAuthority",
          summary: "Send the certificate of a requested authority",
          description: "It must be of the same key, of a CA, valid now, and with the path length that was asked for. 409 when the authority is not pending.",
        },
      },
    )
    .delete(
      "/:authorityId",
      async ({ scope, params, request }) =>
        respond(await deleteAuthority(deps, scope, { id: params.authorityId, versions: ifMatch(request.headers) }), NO_AUTHORITY),
      {
        params: OneAuthority,
        response: { 204: Empty, 404: NotFound(NO_AUTHORITY), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "deleteAuthority",
          summary: "Delete a certificate authority",
          description: "Its key is gone with it. 409 while an authority is below it, an issuer names it, or its certificates have not expired.",
        },
      },
    );
