import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { platformStaff } from "#guards/platform-staff";
import { etag, ifMatch } from "#http/etag";
import { answerFixed, type FixedBody, fixBody } from "#http/fixed-body";
import { encodeCursor, readCursor } from "#http/pagination";
import { respond } from "#http/respond";
import { Answer, Empty, EmptyObject, Message, NotFound, PageQuery, Uuid } from "#http/schema";
import { changeControl, findControlWithHistory, listControls, listStatuses } from "./queries/controls";
import { controlsOf, findControl, frameworks } from "./rules/catalogue";
import { type ControlChange, findFault, summarize } from "./rules/controls";
import { ChangeControl, Control, ControlQuery, ControlWithHistory, Framework, FrameworkCatalogue, FrameworkKey, readFilter } from "./schema";

const NO_CONTROL = "There is no such control in this framework.";
const OneControl = t.Object({ organizationId: Uuid, frameworkKey: FrameworkKey, controlId: Uuid });
const CACHING = { "content-type": "application/json", "cache-control": "private, no-cache" };
const serialize = (items: typeof frameworks) => fixBody(JSON.stringify({ items }), CACHING);
const CATALOGUE = serialize(frameworks);
const CATALOGUES = new Map<string | undefined, FixedBody>(frameworks.map((each) => [each.key, serialize([each])]));
const VERSION_PART = /^\d{1,9}$/;
const NEWEST = 2_147_483_647;

export const frameworkCatalogue = (deps: Deps) =>
  new Elysia({ prefix: "/admin/ai-governance/catalog", tags: ["Platform staff"] })
    .use(platformStaff(deps))
    .get("", ({ query, request, set }) => answerFixed({ request, set }, CATALOGUES.get(query.framework) ?? CATALOGUE), {
      query: t.Object({ framework: t.Optional({ ...FrameworkKey, description: "Only this one" }) }),
      response: { 200: FrameworkCatalogue, 304: Empty, 400: Message },
      detail: {
        operationId: "listFrameworkCatalogue",
        summary: "List platform AI governance framework catalogue entries",
        description: "Every framework with all its controls. The id of a control is the same on every server.",
      },
    });

export const frameworkControls = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/ai-governance/frameworks", tags: ["AI governance"] })
    .use(inOrganization(deps))
    .get(
      "",
      async ({ scope }) => {
        const statuses = await listStatuses(deps.sql, scope.organizationId, deps.clock());
        const items = frameworks.map(({ controls, ...framework }) => ({
          ...framework,
          progress: summarize(controls.map(({ id }) => statuses.get(id)?.status ?? "not_started")),
          needsAttention: controls.filter(({ id }) => statuses.get(id)?.needsAttention).length,
        }));
        return { items };
      },
      {
        params: t.Object({ organizationId: Uuid }),
        response: { 200: Answer({ items: t.Array(Framework, { description: "All of them" }) }) },
        detail: { operationId: "listFrameworks", summary: "List frameworks", description: "All of them, each with how far the organization has come." },
      },
    )
    .get(
      "/:frameworkKey/controls",
      async ({ scope, params: { frameworkKey: key }, query }) => {
        const filter = readFilter(query);
        if ("invalid" in filter) return respond(filter);
        return { items: await listControls(deps.sql, scope.organizationId, { key, controls: controlsOf(key) }, filter, deps.clock()) };
      },
      {
        params: t.Object({ organizationId: Uuid, frameworkKey: FrameworkKey }),
        query: ControlQuery,
        response: { 200: Answer({ items: t.Array(Control, { description: "All that were asked for" }) }), 400: Message },
        detail: { operationId: "listControls", summary: "List the controls of a framework", description: "All that are asked for, in the framework's order." },
      },
    )
    .get(
      "/:frameworkKey/controls/:controlId",
      async ({ scope, params: { frameworkKey, controlId }, query, set }) => {
        const control = findControl(frameworkKey, controlId);
        if (!control) return respond(control, NO_CONTROL);
        const before = Number(readCursor(query.cursor, VERSION_PART)?.[0] ?? NEWEST);
        const { shown, history } = await findControlWithHistory(deps.sql, scope.organizationId, control.id, { limit: query.limit, before }, deps.clock());
        const items = history.slice(0, query.limit);
        const nextCursor = history.length > query.limit ? encodeCursor([String(items.at(-1)?.version)]) : null;
        set.headers.etag = etag(shown.version);
        return { ...control, framework: frameworkKey, ...shown, history: { items, nextCursor } };
      },
      {
        params: OneControl,
        query: t.Object(PageQuery),
        response: { 200: ControlWithHistory, 400: Message, 404: NotFound(NO_CONTROL) },
        detail: {
          operationId: "getControl",
          summary: "Get one control with its history",
          description:
            "limit and cursor page through the history, which keeps evidence as it was written. The answer's ETag is the control's: of what is stored, not of what became of its certificates.",
        },
      },
    )
    .patch(
      "/:frameworkKey/controls/:controlId",
      async ({ scope, params: { frameworkKey: framework, controlId }, body, request, set }) => {
        const change = readChange(body);
        const invalid = findFault(change);
        if (invalid) return respond({ invalid });
        const control = findControl(framework, controlId);
        if (!control) return respond(control, NO_CONTROL);
        const outcome = await changeControl(deps.sql, scope, { framework, control, versions: ifMatch(request.headers) }, change, deps.clock());
        if (outcome === "stale" || "invalid" in outcome) return respond(outcome);
        set.headers.etag = etag(outcome.shown.version);
        return { ...control, framework, ...outcome.shown };
      },
      {
        params: OneControl,
        body: ChangeControl,
        response: { 200: Control, 400: Message, 404: NotFound(NO_CONTROL), 412: EmptyObject },
        detail: {
          operationId: "changeControlStatus",
          summary: "Update framework control status",
          description:
            "What is not named stays; null or an empty list removes. `implemented` needs evidence or a note, `not_applicable` a note; those that are stored count. Every change is kept as history.",
        },
      },
    );

/** Ids are compared and kept in lower case. */
function readChange({ ownerId, evidence, ...rest }: typeof ChangeControl.static): ControlChange {
  return {
    ...rest,
    ...(ownerId !== undefined && { ownerId: ownerId?.toLowerCase() ?? null }),
    ...(evidence && {
      evidence: evidence.map(({ certificateId, ...each }) => ({ ...each, ...(certificateId && { certificateId: certificateId.toLowerCase() }) })),
    }),
  };
}
