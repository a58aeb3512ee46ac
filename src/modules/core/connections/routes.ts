import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { isFailure, respond, respondCreated } from "#http/respond";
import { Conflict, Empty, EmptyObject, Message, NotFound, OneOf, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { isConnectionProven, UNPROVEN_CONNECTION } from "#modules/core/connectors/queries";
import { KINDS, type Kind } from "#modules/core/connectors/rules/kinds";
import { applyPatch, readSettings } from "#modules/core/connectors/rules/settings";
import { type ConnectionKey, openSecrets, sealSecrets } from "#modules/core/connectors/services/secrets";
import { createConnection, deleteConnection, findConnection, findStored, listConnections, type Stored, saveTest, updateConnection } from "./queries";
import { Connection, ConnectionPatch, NewConnection, TestOutcome } from "./schema";
import { testConnection } from "./services/tests";

const NO_CONNECTION = "There is no such connection in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneConnection = t.Object({ organizationId: Uuid, connectionId: PathId });

export const connections = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/core/connections", tags: ["Core"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { kind, name, config = {}, secrets = {} } }) => {
        const read = readSettings(kind, { config, secrets }, deps.config.allowPrivateTargets);
        if ("invalid" in read) return respond(read);
        const id = Bun.randomUUIDv7();
        const sealedSecrets = sealSecrets(deps.config.keyring, read.secrets, { organizationId: scope.organizationId, id });
        const row = { id, kind, name, config: read.config, secretNames: Object.keys(read.secrets), sealedSecrets };
        const created = await createConnection(deps.sql, deps.stamps, scope, row);
        if (isFailure(created)) return respond(created);
        return respondCreated(created, `/organizations/${scope.organizationId}/core/connections/${id}`);
      },
      {
        params: InOrganization,
        body: NewConnection,
        response: { 201: Connection, 400: Message },
        detail: {
          operationId: "createConnection",
          summary: "Create a connector connection",
          description: "The fields of config and secrets are checked for the kind. Secrets are sealed and never returned.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listConnections(deps.sql, scope.organizationId, pageBefore(query), query.kind), query.limit), {
      params: InOrganization,
      query: t.Object({ ...PageQuery, kind: t.Optional(OneOf(KINDS, { description: "Only connections of this kind" })) }),
      response: { 200: Page(Connection), 400: Message },
      detail: { operationId: "listConnections", summary: "List connections", description: "Newest first." },
    })
    .get("/:connectionId", async ({ scope, params }) => respond(await findConnection(deps.sql, scope.organizationId, params.connectionId), NO_CONNECTION), {
      params: OneConnection,
      response: { 200: Connection, 400: Message, 404: NotFound(NO_CONNECTION) },
      detail: { operationId: "getConnection", summary: "Get one connection" },
    })
    .patch(
      "/:connectionId",
      async ({ scope, params: { connectionId: id }, body, request }) => {
        const target = { id, versions: ifMatch(request.headers) };
        const row = { organizationId: scope.organizationId, id };
        return respond(await updateConnection(deps.sql, deps.stamps, scope, target, (stored) => decide(deps, row, stored, body)), NO_CONNECTION);
      },
      {
        params: OneConnection,
        body: ConnectionPatch,
        response: { 200: Connection, 400: Message, 404: NotFound(NO_CONNECTION), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "updateConnection",
          summary: "Update a connection",
          description:
            "A new config or secret makes the last test void. What changes nothing keeps the version. Where an address, a CA or the way of authenticating changes, the secrets must be sent again. 409 where another connection has the name.",
        },
      },
    )
    .delete(
      "/:connectionId",
      async ({ scope, params, request }) =>
        respond(await deleteConnection(deps.sql, scope, { id: params.connectionId, versions: ifMatch(request.headers) }), NO_CONNECTION),
      {
        params: OneConnection,
        response: { 204: Empty, 404: NotFound(NO_CONNECTION), 412: EmptyObject },
        detail: {
          operationId: "deleteConnection",
          summary: "Delete a connection",
          description: "Its secrets are gone with it. Notification routes that lead to it stay, without a target.",
        },
      },
    )
    .post(
      "/:connectionId/test",
      async ({ scope, params: { connectionId: id } }) => {
        const stored = await findStored(deps.sql, scope.organizationId, id);
        if (!stored) return respond(stored, NO_CONNECTION);
        const outcome = await test(deps, { organizationId: scope.organizationId, id }, stored);
        await saveTest(deps.sql, scope, { id, version: stored.version, ...outcome }, deps.clock());
        return outcome;
      },
      {
        params: OneConnection,
        response: { 200: TestOutcome, 404: NotFound(NO_CONNECTION) },
        detail: {
          operationId: "testConnection",
          summary: "Test a connection",
          description:
            "Does what the kind's `test` says, within 4 s and without following a redirect, and keeps the outcome: signs in, asks something harmless, or sends a message that is marked as a test.",
        },
      },
    );

function decide({ config: { keyring, allowPrivateTargets } }: Deps, row: ConnectionKey, stored: Stored, patch: typeof ConnectionPatch.static) {
  const current = { ...stored, secrets: openSecrets(keyring, stored.sealedSecrets, row) ?? {} };
  const read = applyPatch(current, patch, allowPrivateTargets);
  if ("invalid" in read) return read;
  const { name, config, secrets } = read.next;
  const sealed = read.changed.includes("secrets") ? { names: Object.keys(secrets), sealed: sealSecrets(keyring, secrets, row) } : undefined;
  return { name, config, secrets: sealed, changed: read.changed };
}

async function test({ config, clock, stamps, callLanes }: Deps, row: ConnectionKey, stored: Stored) {
  if (!isConnectionProven(stamps, stored)) return { outcome: "failed" as const, message: UNPROVEN_CONNECTION };
  const { kind, config: given, sealedSecrets, organizationName } = stored;
  const secrets = openSecrets(config.keyring, sealedSecrets, row);
  if (!secrets) return { outcome: "failed" as const, message: "Its secrets were sealed with another SECRETS_KEY. Set them again." };
  const organization = { id: row.organizationId, name: organizationName };
  const tested = { kind: kind as Kind, id: row.id, organization, values: { ...secrets, ...given } };
  return callLanes.run(organization.id, () => testConnection(tested, { config, clock }));
}
