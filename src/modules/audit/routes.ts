import { Elysia, t } from "elysia";
import type { Deps } from "../../deps";
import { inOrganization } from "../../guards/in-organization";
import { page, readCursor, UUID_PART } from "../../http/page";
import { Answer, DateTime, Message, Nullable, Page, PageQuery, Uuid } from "../../http/schema";
import { listAuditEvents } from "./queries";
import { Actor } from "./schema";

const AuditEvent = Answer(
  {
    id: Uuid,
    at: DateTime,
    actor: Actor,
    action: t.String({ examples: ["certificate.revoked"] }),
    targetType: t.String({ examples: ["certificate"] }),
    targetId: t.String(),
    requestId: Nullable(t.String({ examples: ["0b6e3a52-7f0a-4b1e-9c55-2f7f4d1c8e90"] })),
    details: t.Record(t.String(), t.Unknown(), { examples: [{ reason: "superseded" }] }),
  },
  { title: "AuditEvent" },
);

export const audit = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/audit-events", tags: ["Audit"] })
    .use(inOrganization(deps))
    .get(
      "",
      async ({ scope, query }) =>
        page(await listAuditEvents(deps.sql, scope.organizationId, { limit: query.limit, before: readCursor(query.cursor, UUID_PART)?.[0] }), query.limit),
      {
        role: "ORG_ADMIN",
        params: t.Object({ organizationId: Uuid }),
        query: t.Object(PageQuery),
        response: { 200: Page(AuditEvent), 400: Message },
        detail: { operationId: "listAuditEvents", summary: "List audit events", description: "Newest first; for ORG_ADMIN." },
      },
    );
