import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { ifMatch } from "#http/etag";
import { page, pageBefore } from "#http/pagination";
import { jsonText, respond, respondCreated } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, Page, PageQuery, PathId, Uuid } from "#http/schema";
import { listDeliveries, redeliver } from "./queries/deliveries";
import { createRoute, deleteRoute, findRoute, findStoredRoute, listRoutes, type StoredRoute, updateRoute } from "./queries/routes";
import { MAX_ROUTES, readRoute } from "./rules/routes";
import { Delivery, DeliveryState, NewRoute, NotificationRoute, RoutePatch, RouteTest } from "./schema";
import { tryRoute } from "./services/try-route";

const NO_ROUTE = "There is no such notification route in this organization.";
const NO_DELIVERY = "There is no such delivery of this notification route.";
const InOrganization = t.Object({ organizationId: Uuid });
const OneRoute = t.Object({ organizationId: Uuid, routeId: PathId });

export const notificationRoutes = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/notification-routes", tags: ["Notifications"] })
    .use(inOrganization(deps))
    .post(
      "",
      async ({ scope, body: { kinds = null, severity = "info", selector = null, enabled = true, ...body } }) => {
        const route = readRoute({ ...body, kinds, severity, selector, enabled });
        if ("invalid" in route) return respond(route);
        const id = Bun.randomUUIDv7();
        const created = await createRoute(deps.sql, scope, id, route);
        return "invalid" in created ? respond(created) : respondCreated(created, `/organizations/${scope.organizationId}/notification-routes/${id}`);
      },
      {
        params: InOrganization,
        body: NewRoute,
        response: { 201: NotificationRoute, 400: Message },
        detail: {
          operationId: "createNotificationRoute",
          summary: "Send notifications to a channel or to more members",
          description: `All kinds where none are named. Members whom a notification concerns get it anyway. At most ${MAX_ROUTES}.`,
        },
      },
    )
    .get("", async ({ scope, query }) => page(await listRoutes(deps.sql, scope.organizationId, pageBefore(query)), query.limit), {
      params: InOrganization,
      query: t.Object(PageQuery),
      response: { 200: Page(NotificationRoute), 400: Message },
      detail: { operationId: "listNotificationRoutes", summary: "List notification routes", description: "Newest first." },
    })
    .get("/:routeId", async ({ scope, params }) => respond(await findRoute(deps.sql, scope.organizationId, params.routeId), NO_ROUTE), {
      params: OneRoute,
      response: { 200: NotificationRoute, 400: Message, 404: NotFound(NO_ROUTE) },
      detail: { operationId: "getNotificationRoute", summary: "Get one notification route" },
    })
    .patch(
      "/:routeId",
      async ({ scope, params, body, request }) =>
        respond(await updateRoute(deps.sql, scope, { id: params.routeId, versions: ifMatch(request.headers) }, (stored) => patch(stored, body)), NO_ROUTE),
      {
        params: OneRoute,
        body: RoutePatch,
        response: { 200: NotificationRoute, 400: Message, 404: NotFound(NO_ROUTE), 412: EmptyObject },
        detail: {
          operationId: "updateNotificationRoute",
          summary: "Update a notification route",
          description: "`null` takes kinds or a selector away. What still waits is given up where the route is disabled, or leads elsewhere.",
        },
      },
    )
    .delete(
      "/:routeId",
      async ({ scope, params, request }) => respond(await deleteRoute(deps.sql, scope, { id: params.routeId, versions: ifMatch(request.headers) }), NO_ROUTE),
      {
        params: OneRoute,
        response: { 204: Empty, 404: NotFound(NO_ROUTE), 412: EmptyObject },
        detail: { operationId: "deleteNotificationRoute", summary: "Delete a notification route", description: "What still waits because of it is given up." },
      },
    )
    .post(
      "/:routeId/test",
      async ({ scope, params }) => {
        const route = await findStoredRoute(deps.sql, scope.organizationId, params.routeId);
        return route ? deps.callLanes.run(scope.organizationId, () => tryRoute(deps, scope, route)) : respond(route, NO_ROUTE);
      },
      {
        params: OneRoute,
        response: { 200: RouteTest, 404: NotFound(NO_ROUTE) },
        detail: {
          operationId: "testNotificationRoute",
          summary: "Deliver an example to the channel of a route",
          description:
            "At once, within 4 s, and marked as a test. Once it arrives, what waits for the channel is tried again. 429 beyond 100 tests and redeliveries an hour, or 100 mails of them a day.",
        },
      },
    )
    .get(
      "/:routeId/deliveries",
      async ({ scope: { organizationId }, params: { routeId }, query: { limit, cursor, state } }) => {
        if (!(await findStoredRoute(deps.sql, organizationId, routeId))) return respond(undefined, NO_ROUTE);
        return page(await listDeliveries(deps.sql, organizationId, routeId, state, pageBefore({ limit, cursor })), limit);
      },
      {
        params: OneRoute,
        query: t.Object({ ...PageQuery, state: t.Optional(DeliveryState) }),
        response: { 200: Page(Delivery), 400: Message, 404: NotFound(NO_ROUTE) },
        detail: { operationId: "listNotificationDeliveries", summary: "List the deliveries of a route", description: "Newest first, for 90 days." },
      },
    )
    .post(
      "/:routeId/deliveries/:deliveryId/redeliver",
      async ({ scope, params: { routeId, deliveryId } }) => {
        const queued = await redeliver(deps.sql, scope, { routeId, id: deliveryId }, (mails) => deps.limits.chargeTrial(scope.organizationId, mails));
        return typeof queued === "string" ? respond(queued, NO_DELIVERY) : jsonText(queued.json, 202);
      },
      {
        params: t.Object({ organizationId: Uuid, routeId: PathId, deliveryId: PathId }),
        response: { 202: Delivery, 404: NotFound(NO_DELIVERY), 409: EmptyObject },
        detail: {
          operationId: "redeliverNotification",
          summary: "Deliver once more",
          description: "With the same webhook-id, and tried for a day again. 409 where it would open an incident of a state that has ended.",
        },
      },
    );

/** The route as the patch makes it. */
const patch = ({ kinds, severity, selector, ...stored }: StoredRoute, body: typeof RoutePatch.static) =>
  readRoute({
    name: body.name ?? stored.name,
    target: body.target ?? stored.target,
    enabled: body.enabled ?? stored.enabled,
    severity: body.severity ?? severity,
    kinds: body.kinds === undefined ? kinds : body.kinds,
    selector: body.selector === undefined ? selector : body.selector,
  });
