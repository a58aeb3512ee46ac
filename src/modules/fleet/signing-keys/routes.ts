import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { agent } from "#guards/agent";
import { inOrganization } from "#guards/in-organization";
import { page, readCursor } from "#http/pagination";
import { jsonText, respond } from "#http/respond";
import { EmptyObject, Message, Page, PageQuery, Uuid } from "#http/schema";
import { findHolder } from "#modules/fleet/agent-access/queries/holders";
import { listSigningKeys, listSuccessors, rotateSigningKey } from "./queries";
import { SigningKey, SuccessorQuery, Successors } from "./schema";

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

/** How an agent follows a rotation: from the key that it trusts to the one that signs now. */
export const successors = (deps: Deps) =>
  new Elysia({ prefix: "/agent", tags: ["Agents"] })
    .use(agent(deps, findHolder))
    .get(
      "/signing-keys",
      async ({ agent, query }) =>
        jsonText(JSON.stringify(await listSuccessors(deps.sql, agent.organizationId, query.of)), 200, { "cache-control": "no-store" }),
      {
        query: SuccessorQuery,
        response: { 200: Successors, 400: Message },
        detail: { operationId: "listSuccessors", summary: "What endorsed keys follow the one that the agent trusts" },
      },
    );
