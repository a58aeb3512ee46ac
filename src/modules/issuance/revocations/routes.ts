import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { page, readCursor, UUID_PART } from "#http/pagination";
import { Message, Page, PageQuery, Uuid } from "#http/schema";
import { listRevocations } from "./queries/list";
import { Revocation, State } from "./schema";

export const revocations = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId", tags: ["Issuance"] }).use(inOrganization(deps)).get(
    "/revocations",
    async ({ scope, query: { limit, cursor, ...filter } }) => {
      const [before] = readCursor(cursor, UUID_PART) ?? [];
      return page(await listRevocations(deps.sql, scope.organizationId, filter, { limit, before }), limit);
    },
    {
      params: t.Object({ organizationId: Uuid }),
      query: t.Object({ ...PageQuery, state: t.Optional(State), certificateId: t.Optional(Uuid) }),
      response: { 200: Page(Revocation), 400: Message },
      detail: {
        operationId: "listRevocations",
        summary: "List revocations at CAs",
        description:
          "What was revoked here, and was issued by a CA elsewhere, which is asked by its account: whether it has revoked the certificate too, and if not, why. Newest first. A certificate that is on hold is none of them: no ACME CA knows such a state.",
      },
    },
  );
