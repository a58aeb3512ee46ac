import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { page, readCursor } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { EmptyObject, Message, Page, PageQuery, Uuid } from "#http/schema";
import { listSigningKeys, rotateSigningKey } from "./queries";
import { SigningKey } from "./schema";

const GENERATION = /^\d{1,4}$/;
const InOrganization = t.Object({ organizationId: Uuid });

export const signingKeys = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/signing-keys", tags: ["Agents"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope }) => {
        const made = await rotateSigningKey(deps.sql, deps.config.keyring, scope);
        return made === "conflict" ? respond(made) : jsonText(made.json, 201);
      },
      {
        params: InOrganization,
        response: { 201: SigningKey, 400: Message, 409: EmptyObject },
        detail: {
          operationId: "rotateSigningKey",
          summary: "Sign desired states with a new key",
          description: "The key before endorses it, so that agents follow, also those that come back later; its private half is erased. 409 after a thousand.",
        },
      },
    )
    .get(
      "",
      async ({ scope, query }) => {
        const cursor = readCursor(query.cursor, GENERATION)?.[0];
        return page(
          await listSigningKeys(deps.sql, scope.organizationId, { limit: query.limit, before: cursor === undefined ? undefined : Number(cursor) }),
          query.limit,
        );
      },
      {
        params: InOrganization,
        query: t.Object(PageQuery),
        response: { 200: Page(SigningKey), 400: Message },
        detail: {
          operationId: "listSigningKeys",
          summary: "List signing keys",
          description: "Newest first: the first one signs, those before are endorsed history.",
        },
      },
    );
