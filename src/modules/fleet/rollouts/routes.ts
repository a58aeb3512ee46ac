import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { respond, respondCreated } from "#http/respond";
import { Conflict, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { INELIGIBLE, NO_CERTIFICATE } from "#modules/fleet/assignments/rules";
import { createRollout, findRollout, haltRollout, listRollouts, resumeRollout, rollBack } from "./queries/rollouts";
import { atAssignment, readNewRollout } from "./rules";
import { NewRollout, Resumption, Rollout, RolloutSummary } from "./schema";

const NO_ROLLOUT = "There is no such rollout in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneRollout = t.Object({ organizationId: Uuid, rolloutId: PathId });
const CHANGED = { 200: Rollout, 400: Message, 404: NotFound(NO_ROLLOUT), 409: Conflict, 412: EmptyObject };

export const rollouts = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/rollouts", tags: ["Rollouts"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body }) => {
        const { name, haltShare = 0.1, successShare = 1 } = body;
        const read = readNewRollout(body);
        if ("invalid" in read) return respond(read);
        const given = { name, certificateId: read.certificateId, template: read.template, rings: read.rings, haltShare, successShare };
        const made = await createRollout(deps.sql, deps.stamps, scope, given, deps.clock());
        if (made === "no certificate") return respond({ missing: NO_CERTIFICATE });
        if (typeof made === "string") return respond({ invalid: atAssignment(INELIGIBLE[made]) });
        return respondCreated(made, `/organizations/${scope.organizationId}/rollouts/${made.id}`);
      },
      {
        params: InOrganization,
        body: NewRollout,
        response: { 201: Rollout, 400: Message, 404: Message },
        detail: {
          operationId: "createRollout",
          summary: "Roll a certificate out in rings",
          description: "The agents of a ring get their assignments when it opens. Labels that change later move no agent.",
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listRollouts(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(RolloutSummary), 400: Message },
      detail: { operationId: "listRollouts", summary: "List rollouts", description: "Rotations too; the newest first." },
    })
    .get(
      "/:rolloutId",
      async ({ scope, params }) => {
        return respond(await findRollout(deps.sql, scope.organizationId, params.rolloutId), NO_ROLLOUT);
      },
      {
        params: OneRollout,
        response: { 200: Rollout, 400: Message, 404: NotFound(NO_ROLLOUT) },
        detail: { operationId: "getRollout", summary: "Get one rollout", description: "With how far each ring is." },
      },
    )
    .post(
      "/:rolloutId/halt",
      async ({ scope, params, request }) => respond(await haltRollout(deps.sql, deps.stamps, scope, targetOf(params, request)), NO_ROLLOUT),
      {
        params: OneRollout,
        response: CHANGED,
        detail: {
          operationId: "haltRollout",
          summary: "Halt a rollout",
          description: "No ring opens until it is resumed; what is open stays. 409 unless it runs.",
        },
      },
    )
    .post(
      "/:rolloutId/resume",
      async ({ scope, params, body, request }) =>
        respond(await resumeRollout(deps.sql, deps.stamps, scope, targetOf(params, request), body.haltShare, deps.clock()), NO_ROLLOUT),
      {
        params: OneRollout,
        body: Resumption,
        response: CHANGED,
        detail: {
          operationId: "resumeRollout",
          summary: "Resume a rollout",
          description: "Failures from before it count no more: only newer reports halt it again. 409 unless it is halted.",
        },
      },
    )
    .post(
      "/:rolloutId/rollback",
      async ({ scope, params, request }) => respond(await rollBack(deps.sql, deps.stamps, scope, targetOf(params, request)), NO_ROLLOUT),
      {
        params: OneRollout,
        response: CHANGED,
        detail: {
          operationId: "rollBackRollout",
          summary: "Roll a rollout back",
          description:
            "What it made is deleted, so that the agents take it out, and what changed its certificate changes back. 409 the second time, and in a rotation whose predecessor is revoked or retired.",
        },
      },
    );

const targetOf = ({ rolloutId }: { rolloutId: string }, { headers }: Request) => ({ id: rolloutId, versions: ifMatch(headers) });
