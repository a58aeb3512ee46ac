import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { etag, ifMatch, readTag } from "#http/etag";
import { page, pageAfter, pageBefore } from "#http/pagination";
import { isFailure, jsonText, respond, respondCreated } from "#http/respond";
import { Conflict, Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Text, Uuid } from "#http/schema";
import { findAssignment, listAssignments } from "./queries/assignments";
import { createAssignment } from "./queries/create";
import { listReports } from "./queries/history";
import { deleteAssignment } from "./queries/removal";
import { updateAssignment } from "./queries/update";
import { findMalformed, readNewAssignment } from "./rules";
import { Assignment, AssignmentPatch, AssignmentWithHistory, ListedAssignment, NewAssignment } from "./schema/assignments";
import { KeptReport } from "./schema/history";

const NO_AGENT = "There is no such agent in this organization.";
const NO_ASSIGNMENT = "There is no such assignment of this agent.";
const REASONED = "query.force needs query.reason, in words for the audit trail, and the other way round.";
/** Versions begin at 1. */
const NO_VERSION = 0;
const OfAgent = t.Object({ organizationId: Uuid, agentId: Uuid });
const OneAssignment = t.Object({ organizationId: Uuid, agentId: Uuid, assignmentId: PathId });

export const assignments = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/agents/:agentId/assignments", tags: ["Agents"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, params: { agentId }, body }) => {
        const given = readNewAssignment(body);
        if ("invalid" in given) return respond(given);
        const created = await createAssignment(deps.sql, deps.stamps, scope, { ...given, agentId });
        if (isFailure(created)) return respond(created, NO_AGENT);
        return respondCreated(created, `/organizations/${scope.organizationId}/agents/${agentId.toLowerCase()}/assignments/${created.id}`);
      },
      {
        params: OfAgent,
        body: NewAssignment,
        response: { 201: Assignment, 400: Message, 404: NotFound(NO_AGENT), 409: Conflict },
        detail: {
          operationId: "createAssignment",
          summary: "Create capture agent assignment",
          description: "Binds a certificate to a trust store on an agent. 409 when it is bound to that place already, or a policy has the place.",
        },
      },
    )
    .get(
      "",
      async ({ scope, params, query }) => {
        const rows = await listAssignments(deps.sql, scope.organizationId, params.agentId, pageAfter(query));
        return rows ? page(rows, query.limit) : respond(rows, NO_AGENT);
      },
      {
        params: OfAgent,
        query: t.Object(PageQuery),
        response: { 200: Page(ListedAssignment), 400: Message, 404: NotFound(NO_AGENT) },
        detail: { operationId: "listAssignments", summary: "List the assignments of an agent", description: "The oldest first; those too that are removing." },
      },
    )
    .get(
      "/:assignmentId",
      async ({ scope, params: { agentId, assignmentId: id } }) => respond(await findAssignment(deps.sql, scope.organizationId, { agentId, id }), NO_ASSIGNMENT),
      {
        params: OneAssignment,
        response: { 200: AssignmentWithHistory, 400: Message, 404: NotFound(NO_ASSIGNMENT) },
        detail: { operationId: "getAssignment", summary: "Get one assignment", description: "With what its agent last reported and what it reported before." },
      },
    )
    .get(
      "/:assignmentId/reports",
      async ({ scope, params: { agentId, assignmentId: id }, query }) => {
        const rows = await listReports(deps.sql, scope.organizationId, { agentId, id }, pageBefore(query));
        return rows ? page(rows, query.limit) : respond(rows, NO_ASSIGNMENT);
      },
      {
        params: OneAssignment,
        query: t.Object(PageQuery),
        response: { 200: Page(KeptReport), 400: Message, 404: NotFound(NO_ASSIGNMENT) },
        detail: {
          operationId: "listReports",
          summary: "List the reports of an assignment",
          description: "The newest first. A report that said the same as the one before is not among them.",
        },
      },
    )
    .patch(
      "/:assignmentId",
      async ({ scope, params: { agentId, assignmentId: id }, body: { version, etag, ...patch }, request }) => {
        const invalid = patch.config && findMalformed(patch.config);
        if (invalid !== undefined) return respond({ invalid });
        const named = [version, etag === undefined ? undefined : (readTag(etag) ?? NO_VERSION)].filter((each) => each !== undefined);
        const target = { agentId, id, versions: ifMatch(request.headers), named };
        return respond(await updateAssignment(deps.sql, deps.stamps, scope, target, patch), NO_ASSIGNMENT);
      },
      {
        params: OneAssignment,
        body: AssignmentPatch,
        response: { 200: Assignment, 400: Message, 404: NotFound(NO_ASSIGNMENT), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "updateAssignment",
          summary: "Update capture agent assignment",
          description:
            "What is not named stays; in config, null removes. A change adds 1 to the version, a request that changes nothing keeps it. 409 where it belongs to a policy, one has its new place, or it is held and more than its applicationId would change.",
        },
      },
    )
    .delete(
      "/:assignmentId",
      async ({ scope, params: { agentId, assignmentId: id }, query: { force = false, reason }, request }) => {
        if (force !== (reason !== undefined)) return respond({ invalid: REASONED });
        const target = { agentId, id, versions: ifMatch(request.headers) };
        const outcome = await deleteAssignment(deps.sql, deps.stamps, scope, target, reason);
        if (outcome === "done" || isFailure(outcome)) return respond(outcome, NO_ASSIGNMENT);
        return jsonText(outcome.json, 202, { etag: etag(outcome.version) });
      },
      {
        params: OneAssignment,
        query: t.Object({
          force: t.Optional(t.Boolean({ default: false, description: "Delete it though its agent has not said that it is gone" })),
          reason: t.Optional(Text({ max: 500, description: "Why, for the audit trail", examples: ["The host was scrapped."] })),
        }),
        response: { 202: ListedAssignment, 204: Empty, 400: Message, 404: NotFound(NO_ASSIGNMENT), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "deleteAssignment",
          summary: "Delete an assignment",
          description:
            "202: it is removing until its agent says that the certificate is gone from the store; then it is deleted. 204: it is deleted, at once where the agent has nothing of it, or with force and a reason. 409 where it belongs to a policy.",
        },
      },
    );
