import { Elysia, status, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { isStaff, platformStaff } from "#guards/platform-staff";
import { Refusal } from "#http/errors";
import { etag, ifMatch } from "#http/etag";
import { requestId } from "#http/exchange";
import { jsonText, page, readCursor, UUID_PART } from "#http/pagination";
import { EmptyObject, Message, Page, PageQuery, Uuid, uuidOrNil } from "#http/schema";
import { createOrganization, findOrganization, listOrganizations, updateOrganization } from "./queries";
import { NewOrganization, Organization, OrganizationPatch } from "./schema";

const NotFound = { message: "There is no such organization." };
/** What is no id is 404, not 400. */
const OneOrganization = t.Object({ organizationId: t.String({ format: "uuid", noValidate: true }) }, { noValidate: true });
const STAFF_ONLY = "Only platform staff may change body.seatLimit.";

/** For the platform's staff. */
export const organizations = (deps: Deps) =>
  new Elysia({ prefix: "/admin/organizations", tags: ["Platform staff"] })
    .use(platformStaff(deps))
    .post(
      "",
      async ({ caller, body, request }) => {
        const created = await createOrganization(deps.sql, body, actOf(caller, request));
        if (!created) throw new Error("a new id is taken");
        return jsonText(created.json, 201, { etag: etag(created.version), location: `/admin/organizations/${created.id}` });
      },
      {
        body: NewOrganization,
        response: { 201: Organization, 400: Message },
        detail: { operationId: "createOrganization", summary: "Create an organization" },
      },
    )
    .get(
      "",
      async ({ query }) => page(await listOrganizations(deps.sql, { limit: query.limit, before: readCursor(query.cursor, UUID_PART)?.[0] }), query.limit),
      {
        query: t.Object(PageQuery),
        response: { 200: Page(Organization), 400: Message },
        detail: { operationId: "listOrganizations", summary: "List organizations", description: "Newest first." },
      },
    )
    .get("/:organizationId", async ({ params }) => found(await findOrganization(deps.sql, uuidOrNil(params.organizationId))), {
      params: OneOrganization,
      response: { 200: Organization, 404: Message },
      detail: { operationId: "getOrganizationAsStaff", summary: "Read an organization" },
    })
    .patch(
      "/:organizationId",
      async ({ caller, params, body, request }) => {
        const scope = { ...actOf(caller, request), organizationId: uuidOrNil(params.organizationId).toLowerCase() };
        return changed(await updateOrganization(deps.sql, scope, ifMatch(request.headers), { ...body, isByStaff: true }));
      },
      {
        params: OneOrganization,
        body: OrganizationPatch,
        response: { 200: Organization, 400: Message, 404: Message, 412: EmptyObject },
        detail: {
          operationId: "updateOrganizationAsStaff",
          summary: "Change an organization's name or seat limit",
          description: "What is not named stays. A limit below the seats that are taken removes nobody.",
        },
      },
    );

/** For its own members. */
export const organization = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId", tags: ["Organization"] })
    .use(inOrganization(deps))
    .get("", async ({ scope }) => found(await findOrganization(deps.sql, scope.organizationId)), {
      params: t.Object({ organizationId: Uuid }),
      response: { 200: Organization, 404: Message },
      detail: { operationId: "getOrganization", summary: "Read the organization" },
    })
    .patch(
      "",
      async ({ scope, body, request }) => {
        const { type, id } = scope.actor;
        const isByStaff = body.seatLimit !== undefined;
        if (isByStaff && !(type === "user" && id && (await isStaff(deps, id)))) throw new Refusal(403, STAFF_ONLY);
        return changed(await updateOrganization(deps.sql, scope, ifMatch(request.headers), { ...body, isByStaff }));
      },
      {
        params: t.Object({ organizationId: Uuid }),
        body: OrganizationPatch,
        response: { 200: Organization, 400: Message, 404: Message, 412: EmptyObject },
        detail: {
          operationId: "updateOrganization",
          summary: "Change the organization's name",
          description: "What is not named stays. `seatLimit` is for a user token of platform staff: 403 for others.",
        },
      },
    );

type Row = { json: string; version: number };

const found = (row: Row | undefined) => (row ? jsonText(row.json, 200, { etag: etag(row.version) }) : status(404, NotFound));

function changed(outcome: Row | "missing" | "stale") {
  if (outcome === "missing") return status(404, NotFound);
  return outcome === "stale" ? status(412, {}) : jsonText(outcome.json, 200, { etag: etag(outcome.version) });
}

const actOf = ({ userId }: { userId: string }, request: Request) => ({
  actor: { type: "user" as const, id: userId },
  requestId: requestId(request),
});
