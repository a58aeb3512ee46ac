import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { page, pageBefore } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { createIngestKey, listIngestKeys, revokeIngestKey } from "./queries";
import { CreateIngestKey, IngestKey, NewIngestKey } from "./schema";

const NO_KEY = "There is no such ingest key in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });

export const ingestKeys = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/ai-governance/ingest/keys", tags: ["AI governance"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body }) => {
        const created = await createIngestKey(deps.sql, deps.config.keyring, scope, body.name);
        return created === "conflict" ? respond(created) : jsonText(JSON.stringify(created), 201, { "cache-control": "no-store" });
      },
      {
        params: InOrganization,
        body: CreateIngestKey,
        response: { 201: NewIngestKey, 400: Message, 409: EmptyObject },
        detail: {
          operationId: "createIngestKey",
          summary: "Make an ingest key",
          description: "Its text is shown this once. To rotate, make a new key, move the senders, and delete the old one. 409 when ten are live.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listIngestKeys(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(IngestKey), 400: Message },
      detail: { operationId: "listIngestKeys", summary: "List ingest keys", description: "Live ones, newest first; never their text." },
    })
    .delete("/:keyId", async ({ scope, params }) => respond(await revokeIngestKey(deps.sql, scope, params.keyId), NO_KEY), {
      params: t.Object({ organizationId: Uuid, keyId: PathId }),
      response: { 204: Empty, 404: NotFound(NO_KEY) },
      detail: { operationId: "deleteIngestKey", summary: "Delete an ingest key", description: "It is refused from now on, on every server." },
    });
