import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { platformStaff } from "#guards/platform-staff";
import { page, pageBefore } from "#http/pagination";
import { respond } from "#http/respond";
import { Message, Page, Uuid } from "#http/schema";
import { listAuditEvents } from "./queries";
import { AuditEvent, AuditQuery, readFilter } from "./schema";

const FILTERS = "Newest first. The filters go together; send the same ones with a cursor.";

export const audit = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/audit-events", tags: ["Audit"] })
    .use(inOrganization(deps))
    .get("", ({ scope, query }) => answer(deps, scope.organizationId, query), {
      role: "ORG_ADMIN",
      params: t.Object({ organizationId: Uuid }),
      query: AuditQuery,
      response: { 200: Page(AuditEvent), 400: Message },
      detail: { operationId: "listAuditEvents", summary: "List audit events", description: `For ORG_ADMIN. ${FILTERS}` },
    });

export const platformAudit = (deps: Deps) =>
  new Elysia({ prefix: "/admin/audit-events", tags: ["Platform staff"] }).use(platformStaff(deps)).get("", ({ query }) => answer(deps, undefined, query), {
    query: AuditQuery,
    response: { 200: Page(AuditEvent), 400: Message },
    detail: {
      operationId: "listPlatformAuditEvents",
      summary: "List the platform's audit events",
      description: `Grants, tokens of the command line, sign-outs, downloads, what staff read, and refusals outside any organization. ${FILTERS}`,
    },
  });

async function answer({ sql, lanes }: Deps, organizationId: string | undefined, { limit, cursor, ...rest }: typeof AuditQuery.static) {
  const filter = readFilter(rest);
  if ("invalid" in filter) return respond(filter);
  const list = () => listAuditEvents(sql, organizationId, filter, pageBefore({ limit, cursor }));
  // An index serves each filter alone; of several together it may read many events that do not fit.
  return page(await (Object.keys(filter).length > 1 ? lanes.run(organizationId ?? "platform", list) : list()), limit);
}
