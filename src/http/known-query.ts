import { Elysia } from "elysia";
import { Refusal } from "./errors";
import { exchangeOf } from "./exchange";
import { describeUnknown } from "./validation-message";

/** True for an operation without any field in its query. */
export type HasNoQuery = (method: string, route: string) => boolean;

/**
 * Refuses a query where the operation has none, as the validator does where it has some: after the guards, so that a stranger
 * gets 401 or 403.
 */
export const refuseUnknownQuery = (router: { hasNoQuery: HasNoQuery }) =>
  new Elysia({ name: "known-query" }).onBeforeHandle({ as: "global" }, ({ request }) => {
    const start = request.url.indexOf("?");
    if (start < 0 || !router.hasNoQuery(request.method === "HEAD" ? "GET" : request.method, exchangeOf(request).route ?? "")) return;
    const name = new URLSearchParams(request.url.slice(start)).keys().next().value;
    if (name !== undefined) throw new Refusal(400, `${describeUnknown(name, [])}.`);
  });
