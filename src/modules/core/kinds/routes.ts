import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { jsonText } from "#http/respond";
import { Uuid } from "#http/schema";
import { connectionKinds } from "#modules/core/connectors/rules/kind-schemas";
import { widgetKinds } from "#modules/core/widgets/rules/kind-schemas";
import { ConnectionKinds, WidgetKinds } from "./schema";

const params = t.Object({ organizationId: Uuid });
const [connections, widgets] = [{ items: connectionKinds }, { items: widgetKinds }].map((each) => JSON.stringify(each)) as [string, string];

export const kinds = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/core", tags: ["Core"] })
    .use(inOrganization(deps))
    .get("/connection-kinds", () => jsonText(connections), {
      params,
      response: { 200: ConnectionKinds },
      detail: {
        operationId: "listConnectionKinds",
        summary: "List the kinds of connections",
        description: "What each kind connects to, and which fields its config and secrets have, as JSON Schema: enough to draw a form.",
      },
    })
    .get("/widget-kinds", () => jsonText(widgets), {
      params,
      response: { 200: WidgetKinds },
      detail: {
        operationId: "listWidgetKinds",
        summary: "List the kinds of widgets",
        description: "What each kind shows, its own size, and which settings it has, as JSON Schema: enough to draw a form.",
      },
    });
