import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { isFailure, respond, respondCreated } from "#http/respond";
import { Conflict, Empty, EmptyObject, Message, NotFound, OneOf, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { createIssuer, deleteIssuer, findIssuer, findStored, listIssuers, saveTest, updateIssuer } from "./queries/issuers";
import { ISSUER_KINDS } from "./rules/kinds";
import { readSettings } from "./rules/settings";
import { Issuer, IssuerPatch, IssuerTest, NewIssuer } from "./schema";
import { findAuthorityFault } from "./services/authority";
import { decideChange } from "./services/change";
import { completeSecrets, sealSecrets } from "./services/secrets";
import { testIssuer } from "./services/test";

const NO_ISSUER = "There is no such issuer in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneIssuer = t.Object({ organizationId: Uuid, issuerId: PathId });

export const issuers = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/issuers", tags: ["Issuance"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { kind, name, config, secrets: given = {} } }) => {
        const read = readSettings(kind, { config, secrets: given }, deps.config.allowPrivateTargets);
        if ("invalid" in read) return respond(read);
        const id = Bun.randomUUIDv7();
        const secrets = completeSecrets(kind, read.secrets);
        const sealed = sealSecrets(deps.config.keyring, secrets, { organizationId: scope.organizationId, id });
        const issuer = { id, kind, name, config: read.config, secrets: { names: Object.keys(secrets), sealed } };
        const created = await createIssuer(deps.sql, deps.stamps, scope, issuer, (tx) => findAuthorityFault(deps, tx, { ...scope, ...issuer }));
        if (isFailure(created)) return respond(created);
        return respondCreated(created, `/organizations/${scope.organizationId}/issuers/${id}`);
      },
      {
        params: InOrganization,
        body: NewIssuer,
        response: { 201: Issuer, 400: Message, 409: Conflict },
        detail: {
          operationId: "createIssuer",
          summary: "Create an issuer",
          description:
            "What certificate requests are sent to. The fields of config and secrets are checked for the kind. Secrets are sealed and never returned. 409 where another issuer has the name, or where its authority issues nothing: pending, disabled, expired or revoked.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listIssuers(deps.sql, scope.organizationId, pageBefore(query), query.kind), query.limit), {
      params: InOrganization,
      query: t.Object({ ...PageQuery, kind: t.Optional(OneOf(ISSUER_KINDS, { description: "Only issuers of this kind" })) }),
      response: { 200: Page(Issuer), 400: Message },
      detail: { operationId: "listIssuers", summary: "List issuers", description: "Newest first." },
    })
    .get("/:issuerId", async ({ scope, params }) => respond(await findIssuer(deps.sql, scope.organizationId, params.issuerId), NO_ISSUER), {
      params: OneIssuer,
      response: { 200: Issuer, 400: Message, 404: NotFound(NO_ISSUER) },
      detail: { operationId: "getIssuer", summary: "Get one issuer" },
    })
    .patch(
      "/:issuerId",
      async ({ scope, params, body, request }) => {
        const target = { id: params.issuerId, versions: ifMatch(request.headers) };
        return respond(await updateIssuer(deps.sql, deps.stamps, scope, target, (stored, tx) => decideChange(deps, tx, stored, body)), NO_ISSUER);
      },
      {
        params: OneIssuer,
        body: IssuerPatch,
        response: { 200: Issuer, 400: Message, 404: NotFound(NO_ISSUER), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "updateIssuer",
          summary: "Update an issuer",
          description:
            "A new config or secret makes the last test void. Where an address changes, the secrets that go there must be sent again; at another ACME directory it gets another account key. 409 where another issuer has the name.",
        },
      },
    )
    .delete(
      "/:issuerId",
      async ({ scope, params, request }) =>
        respond(await deleteIssuer(deps.sql, scope, { id: params.issuerId, versions: ifMatch(request.headers) }), NO_ISSUER),
      {
        params: OneIssuer,
        response: { 204: Empty, 404: NotFound(NO_ISSUER), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "deleteIssuer",
          summary: "Delete an issuer",
          description: "409 while a certificate request is open at it. Its secrets are gone with it.",
        },
      },
    )
    .post(
      "/:issuerId/test",
      async ({ scope, params: { issuerId: id } }) => {
        const stored = await findStored(deps.sql, scope.organizationId, id);
        if (!stored) return respond(stored, NO_ISSUER);
        const outcome = await testIssuer(deps, stored);
        await saveTest(deps.sql, scope, { id, version: stored.version, ...outcome }, deps.clock());
        return outcome;
      },
      {
        params: OneIssuer,
        response: { 200: IssuerTest, 404: NotFound(NO_ISSUER) },
        detail: {
          operationId: "testIssuer",
          summary: "Test an issuer",
          description: "Asks within 4 s whether it would issue, has nothing issued, and keeps the outcome.",
        },
      },
    );
