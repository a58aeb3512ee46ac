import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageAfter } from "#http/pagination";
import { isFailure, jsonText, respond, respondCreated } from "#http/respond";
import { Conflict, Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { deletePolicy, updatePolicy } from "./queries/change-policy";
import { createPolicy } from "./queries/create-policy";
import { findPolicy, listPolicies } from "./queries/policies";
import { readNewPolicy } from "./rules";
import { AssignmentPolicy, AssignmentPolicyPatch, AssignmentPolicySummary, NewAssignmentPolicy, PolicyDryRun } from "./schema";

const NO_POLICY = "There is no such assignment policy in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OnePolicy = t.Object({ organizationId: Uuid, policyId: PathId });

export const assignmentPolicies = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/assignment-policies", tags: ["Agents"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body }) => {
        const read = readNewPolicy(body);
        if ("invalid" in read) return respond(read);
        const { dryRun = false, haltShare = 0.1, successShare = 1 } = body;
        const by = read.rings && { rings: read.rings, haltShare, successShare };
        const created = await createPolicy(deps.sql, deps.stamps, scope, read.policy, by, dryRun, deps.clock());
        if (typeof created === "object" && "reach" in created) return jsonText(created.reach);
        if (isFailure(created)) return respond(created, NO_POLICY);
        return respondCreated(created, `/organizations/${scope.organizationId}/assignment-policies/${created.id}`);
      },
      {
        params: InOrganization,
        body: NewAssignmentPolicy,
        response: { 200: PolicyDryRun, 201: AssignmentPolicy, 400: Message, 404: Message, 409: Conflict },
        detail: {
          operationId: "createAssignmentPolicy",
          summary: "Assign a certificate by labels",
          description:
            "Every agent that matches the selector, now or later, gets the assignment; one that no longer matches loses it. 200 in a dry run. 409 where something else has the place on an agent, with what it is.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listPolicies(deps.sql, scope.organizationId, pageAfter(query)), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(AssignmentPolicySummary), 400: Message },
      detail: { operationId: "listAssignmentPolicies", summary: "List assignment policies", description: "The oldest first." },
    })
    .get("/:policyId", async ({ scope, params }) => respond(await findPolicy(deps.sql, scope.organizationId, params.policyId), NO_POLICY), {
      params: OnePolicy,
      response: { 200: AssignmentPolicy, 400: Message, 404: NotFound(NO_POLICY) },
      detail: {
        operationId: "getAssignmentPolicy",
        summary: "Get one assignment policy",
        description: "With how many agents have its assignment, and on which of them something else has the place.",
      },
    })
    .patch(
      "/:policyId",
      async ({ scope, params, body, request }) => {
        const target = { id: params.policyId, versions: ifMatch(request.headers) };
        const updated = await updatePolicy(deps.sql, deps.stamps, scope, target, body, body.dryRun === true);
        return typeof updated === "object" && "reach" in updated ? jsonText(updated.reach) : respond(updated, NO_POLICY);
      },
      {
        params: OnePolicy,
        body: AssignmentPolicyPatch,
        response: { 200: t.Union([AssignmentPolicy, PolicyDryRun]), 400: Message, 404: NotFound(NO_POLICY), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "updateAssignmentPolicy",
          summary: "Change an assignment policy",
          description:
            "What is not named stays; in config, null removes. Its assignments change with it. 409 where something else has the place on an agent, while its rollout is not completed, and for its certificate and config while a rotation changes them.",
        },
      },
    )
    .delete(
      "/:policyId",
      async ({ scope, params, request }) =>
        respond(await deletePolicy(deps.sql, deps.stamps, scope, { id: params.policyId, versions: ifMatch(request.headers) }), NO_POLICY),
      {
        params: OnePolicy,
        response: { 204: Empty, 400: Message, 404: NotFound(NO_POLICY), 409: Conflict, 412: EmptyObject },
        detail: {
          operationId: "deleteAssignmentPolicy",
          summary: "Delete an assignment policy",
          description: "With its assignments: the agents take the certificate out. 409 while its rollout is not completed.",
        },
      },
    );
