import { Elysia, t } from "elysia";
import { mergePatch } from "#catalogue/merge-patch";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, readCursor, UUID_PART } from "#http/pagination";
import { isFailure, jsonText, respond, respondCreated } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { readData } from "./queries/data";
import { createWidget, deleteWidget, findKind, findWidget, listWidgets, type Stored, updateWidget } from "./queries/widgets";
import { readSettings } from "./rules/grid";
import { type Kind, widgetOf } from "./rules/kinds";
import { DASHBOARD_PART, Dashboard, NewWidget, Widget, WidgetData, WidgetPatch } from "./schema/widgets";

const NO_WIDGET = "There is no such widget in this organization.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneWidget = t.Object({ organizationId: Uuid, widgetId: PathId });
const NUMBER_PART = /^\d{1,5}$/;

export const widgets = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/core/widgets", tags: ["Core"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { kind, title, settings = {}, dashboard = "main", position } }) => {
        const read = readSettings(kind, settings);
        if ("invalid" in read) return respond(read);
        const given = { kind, title, settings: read.values, dashboard, position, size: widgetOf(kind).defaultSize };
        const created = await createWidget(deps.sql, scope, given);
        if (isFailure(created)) return respond(created);
        return respondCreated(created, `/organizations/${scope.organizationId}/core/widgets/${created.id}`);
      },
      {
        params: InOrganization,
        body: NewWidget,
        response: { 201: Widget, 400: Message },
        detail: {
          operationId: "createWidget",
          summary: "Create a dashboard widget",
          description: "The settings are checked for the kind. 400 where it would overlap another widget or leave the grid.",
        },
      },
    )
    .get(
      "",
      async ({ scope, query: { limit, cursor, dashboard } }) => {
        const after = readCursor(cursor, DASHBOARD_PART, NUMBER_PART, NUMBER_PART, UUID_PART);
        return page(await listWidgets(deps.sql, scope.organizationId, { limit, after }, dashboard), limit);
      },
      {
        params: InOrganization,
        query: t.Object({ ...PageQuery, dashboard: t.Optional(Dashboard) }),
        response: { 200: Page(Widget), 400: Message },
        detail: { operationId: "listWidgets", summary: "List widgets", description: "By dashboard, then from the top and the left." },
      },
    )
    .get("/:widgetId", async ({ scope, params }) => respond(await findWidget(deps.sql, scope.organizationId, params.widgetId), NO_WIDGET), {
      params: OneWidget,
      response: { 200: Widget, 400: Message, 404: NotFound(NO_WIDGET) },
      detail: { operationId: "getWidget", summary: "Get one widget" },
    })
    .patch(
      "/:widgetId",
      async ({ scope, params, body, request }) => {
        const target = { id: params.widgetId, versions: ifMatch(request.headers) };
        return respond(await updateWidget(deps.sql, scope, target, (stored) => decide(stored, body)), NO_WIDGET);
      },
      {
        params: OneWidget,
        body: WidgetPatch,
        response: { 200: Widget, 400: Message, 404: NotFound(NO_WIDGET), 412: EmptyObject },
        detail: {
          operationId: "updateWidget",
          summary: "Update or move a widget",
          description: "Moved to another dashboard without a position, it goes below the last widget there. What changes nothing keeps the version.",
        },
      },
    )
    .delete(
      "/:widgetId",
      async ({ scope, params, request }) =>
        respond(await deleteWidget(deps.sql, scope, { id: params.widgetId, versions: ifMatch(request.headers) }), NO_WIDGET),
      {
        params: OneWidget,
        response: { 204: Empty, 404: NotFound(NO_WIDGET), 412: EmptyObject },
        detail: { operationId: "deleteWidget", summary: "Delete a widget", description: "The others stay where they are." },
      },
    )
    .get(
      "/:widgetId/data",
      async ({ scope: { organizationId, actor }, params }) => {
        const found = await findKind(deps.sql, organizationId, params.widgetId);
        if (!found) return respond(found, NO_WIDGET);
        const ask = { organizationId, userId: actor.type === "user" ? actor.id : undefined, now: deps.clock() };
        return jsonText(await deps.lanes.run(organizationId, () => readData(deps.sql, ask, found.kind as Kind, found.settings)));
      },
      {
        params: OneWidget,
        response: { 200: WidgetData, 400: Message, 404: NotFound(NO_WIDGET) },
        detail: { operationId: "getWidgetData", summary: "What a widget shows now", description: "Read live, with the widget's settings." },
      },
    );

function decide(stored: Stored, { title = stored.title, dashboard = stored.dashboard, settings = {}, position }: typeof WidgetPatch.static) {
  const read = readSettings(stored.kind, mergePatch(stored.settings, settings));
  if ("invalid" in read) return read;
  const stays = dashboard === stored.dashboard || position !== undefined;
  return { title, dashboard, settings: read.values, position: stays ? { ...stored.position, ...position } : undefined };
}
