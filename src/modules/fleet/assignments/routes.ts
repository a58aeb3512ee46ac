import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { etag, ifMatch } from "#http/etag";
import { jsonText, page, readCursor, UUID_PART } from "#http/pagination";
import { Empty, EmptyObject, Message, Page, PageQuery, Uuid, uuidOrNil } from "#http/schema";
import type { TrustStoreType } from "#modules/fleet/trust-stores/rules/store-types";
import { createAssignment, deleteAssignment, findAssignment, listAssignments, updateAssignment } from "./queries/assignments";
import { listReports } from "./queries/history";
import { ANCHOR_WITH_KEY, findConfigFault, INELIGIBLE, type Ineligible, readNewAssignment, readPatch, storesFor, unknownMaterial } from "./rules";
import { Assignment, AssignmentPatch, AssignmentWithHistory, NewAssignment } from "./schema/assignments";
import { KeptReport } from "./schema/history";

const NO_AGENT = "There is no such agent in this organization.";
const NO_CERTIFICATE = "There is no such certificate in this organization.";
const NotFound = { message: "There is no such assignment of this agent." };
const OfAgent = t.Object({ organizationId: Uuid, agentId: Uuid });
const OneAssignment = t.Object({ organizationId: Uuid, agentId: Uuid, assignmentId: t.String() });

export const assignments = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/agents/:agentId/assignments", tags: ["Agents"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, params, body, status }) => {
        const given = readNewAssignment(body);
        if ("fault" in given) return status(400, { message: given.fault });
        const made = await createAssignment(deps.sql, scope, { ...given, agentId: params.agentId, certificateId: uuidOrNil(given.certificateId) });
        if (made === "conflict") return status(409, {});
        if (made === "no agent" || made === "no certificate") return status(404, { message: made === "no agent" ? NO_AGENT : NO_CERTIFICATE });
        if (typeof made === "string") return status(400, { message: INELIGIBLE[made] });
        const location = `/organizations/${scope.organizationId}/agents/${params.agentId.toLowerCase()}/assignments/${made.id}`;
        return jsonText(made.json, 201, { etag: etag(made.version), location });
      },
      {
        params: OfAgent,
        body: NewAssignment,
        response: { 201: Assignment, 400: Message, 404: Message, 409: EmptyObject },
        detail: {
          operationId: "createAssignment",
          summary: "Create capture agent assignment",
          description: "Binds a certificate to a trust store on an agent. 409 when it is bound to that place already.",
        },
      },
    )
    .get(
      "",
      async ({ scope, params, query, status }) => {
        const position = { limit: query.limit, after: readCursor(query.cursor, UUID_PART)?.[0] };
        const rows = await listAssignments(deps.sql, scope.organizationId, params.agentId, position);
        return rows ? page(rows, query.limit) : status(404, { message: NO_AGENT });
      },
      {
        params: OfAgent,
        query: t.Object(PageQuery),
        response: { 200: Page(Assignment), 400: Message, 404: Message },
        detail: { operationId: "listAssignments", summary: "List the assignments of an agent", description: "The oldest first." },
      },
    )
    .get(
      "/:assignmentId",
      async ({ scope, params: { agentId, assignmentId }, status }) => {
        const found = await findAssignment(deps.sql, scope.organizationId, { agentId, id: uuidOrNil(assignmentId) });
        return found ? jsonText(found.json, 200, { etag: etag(found.version) }) : status(404, NotFound);
      },
      {
        params: OneAssignment,
        response: { 200: AssignmentWithHistory, 400: Message, 404: Message },
        detail: { operationId: "getAssignment", summary: "Get one assignment", description: "With what its agent last reported and what it reported before." },
      },
    )
    .get(
      "/:assignmentId/reports",
      async ({ scope, params: { agentId, assignmentId }, query, status }) => {
        const position = { limit: query.limit, before: readCursor(query.cursor, UUID_PART)?.[0] };
        const rows = await listReports(deps.sql, scope.organizationId, { agentId, id: uuidOrNil(assignmentId) }, position);
        return rows ? page(rows, query.limit) : status(404, NotFound);
      },
      {
        params: OneAssignment,
        query: t.Object(PageQuery),
        response: { 200: Page(KeptReport), 400: Message, 404: Message },
        detail: {
          operationId: "listReports",
          summary: "List the reports of an assignment",
          description: "The newest first. A report that said the same as the one before is not among them.",
        },
      },
    )
    .patch(
      "/:assignmentId",
      async ({ scope, params: { agentId, assignmentId }, body: { version, etag: tag, ...patch }, request, status }) => {
        const change = readChange(patch);
        if ("fault" in change) return status(400, { message: change.fault });
        const must = { ifMatch: ifMatch(request.headers), version, etag: tag };
        const judged = await updateAssignment(deps.sql, scope, { agentId, id: uuidOrNil(assignmentId) }, change, must);
        switch (judged.verdict) {
          case "missing":
            return status(404, NotFound);
          case "no certificate":
            return status(404, { message: NO_CERTIFICATE });
          case "taken":
          case "outdated":
            return status(409, {});
          case "stale":
            return status(412, {});
          case "changed":
          case "same":
            return jsonText(judged.json, 200, { etag: etag(judged.version) });
          default:
            return status(400, { message: describeFault(judged.verdict, judged.trustStoreType, patch) });
        }
      },
      {
        params: OneAssignment,
        body: AssignmentPatch,
        response: { 200: Assignment, 400: Message, 404: Message, 409: EmptyObject, 412: EmptyObject },
        detail: {
          operationId: "updateAssignment",
          summary: "Update capture agent assignment",
          description: "What is not named stays; in config, null removes. A change adds 1 to the version, a request that changes nothing keeps it.",
        },
      },
    )
    .delete(
      "/:assignmentId",
      async ({ scope, params: { agentId, assignmentId }, request, status }) => {
        const outcome = await deleteAssignment(deps.sql, scope, { agentId, id: uuidOrNil(assignmentId) }, ifMatch(request.headers));
        if (outcome === "missing") return status(404, NotFound);
        return outcome === "stale" ? status(412, {}) : status(204, "");
      },
      {
        params: OneAssignment,
        response: { 204: Empty, 400: Message, 404: Message, 412: EmptyObject },
        detail: { operationId: "deleteAssignment", summary: "Delete an assignment", description: "The agent takes the certificate out of its store." },
      },
    );

function readChange(patch: AssignmentPatch) {
  const config = patch.config && readPatch(patch.config);
  if (config && "fault" in config) return config;
  const sent = patch.certificateId === undefined ? patch : { ...patch, certificateId: uuidOrNil(patch.certificateId) };
  return { patch: sent, config, materialStores: patch.materialType && storesFor(patch.materialType) };
}

type Rejection = Exclude<Ineligible, "no certificate"> | "unfit config" | "unfit material" | "anchor with key";

function describeFault(fault: Rejection, type: TrustStoreType, { config = {} }: AssignmentPatch) {
  if (fault === "unfit config") return findConfigFault(type, config) ?? "";
  if (fault === "unfit material") return unknownMaterial(type);
  return fault === "anchor with key" ? ANCHOR_WITH_KEY : INELIGIBLE[fault];
}
