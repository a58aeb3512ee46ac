import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { isStaff, platformStaff } from "#guards/platform-staff";
import { Refusal } from "#http/errors";
import { ifMatch } from "#http/etag";
import { requestId } from "#http/exchange";
import { page, pageBefore } from "#http/pagination";
import { respond, respondCreated } from "#http/respond";
import { EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { createOrganization, findOrganization, listOrganizations, updateOrganization } from "./queries";
import { NewOrganization, Organization, OrganizationPatch } from "./schema";

const NO_ORGANIZATION = "There is no such organization.";
const OneOrganization = t.Object({ organizationId: { ...PathId, format: "uuid" } });
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
        return respondCreated(created, `/admin/organizations/${created.id}`);
      },
      {
        body: NewOrganization,
        response: { 201: Organization, 400: Message },
        detail: { operationId: "createOrganization", summary: "Create an organization" },
      },
    )
    .get("", async ({ query }) => page(await listOrganizations(deps.sql, pageBefore(query)), query.limit), {
      query: t.Object(PageQuery),
      response: { 200: Page(Organization), 400: Message },
      detail: { operationId: "listOrganizations", summary: "List organizations", description: "Newest first." },
    })
    .get("/:organizationId", async ({ params }) => respond(await findOrganization(deps.sql, params.organizationId), NO_ORGANIZATION), {
      params: OneOrganization,
      response: { 200: Organization, 404: NotFound(NO_ORGANIZATION) },
      detail: { operationId: "getOrganizationAsStaff", summary: "Read an organization" },
    })
    .patch(
      "/:organizationId",
      async ({ caller, params, body, request }) => {
        const target = { id: params.organizationId.toLowerCase(), versions: ifMatch(request.headers) };
        return respond(await updateOrganization(deps.sql, actOf(caller, request), target, { ...body, isByStaff: true }), NO_ORGANIZATION);
      },
      {
        params: OneOrganization,
        body: OrganizationPatch,
        response: { 200: Organization, 400: Message, 404: NotFound(NO_ORGANIZATION), 412: EmptyObject },
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
    .get("", async ({ scope }) => respond(await findOrganization(deps.sql, scope.organizationId), NO_ORGANIZATION), {
      params: t.Object({ organizationId: Uuid }),
      response: { 200: Organization, 404: NotFound(NO_ORGANIZATION) },
      detail: { operationId: "getOrganization", summary: "Read the organization" },
    })
    .patch(
      "",
      async ({ scope, body, request }) => {
        const { type, id } = scope.actor;
        const isByStaff = body.seatLimit !== undefined;
        if (isByStaff && !(type === "user" && id && (await isStaff(deps, id)))) throw new Refusal(403, STAFF_ONLY);
        const target = { id: scope.organizationId, versions: ifMatch(request.headers) };
        return respond(await updateOrganization(deps.sql, scope, target, { ...body, isByStaff }), NO_ORGANIZATION);
      },
      {
        params: t.Object({ organizationId: Uuid }),
        body: OrganizationPatch,
        response: { 200: Organization, 400: Message, 404: NotFound(NO_ORGANIZATION), 412: EmptyObject },
        detail: {
          operationId: "updateOrganization",
          summary: "Change the organization's name",
          description: "What is not named stays. `seatLimit` is for a user token of platform staff: 403 for others.",
        },
      },
    );

const actOf = ({ userId }: { userId: string }, request: Request) => ({
  actor: { type: "user" as const, id: userId },
  requestId: requestId(request),
});
