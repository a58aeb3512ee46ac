import { Elysia } from "elysia";
import type { Deps } from "../deps";
import { requestId } from "./request-id";

type Context = { route?: string; caller?: { userId: string }; scope?: { organizationId: string; actor: { id?: string } } };
const contexts = new WeakMap<Request, Context>();

/** Gives each answer its id, and remembers whose request it was and which route answered. */
export const requestLog = () =>
  new Elysia({ name: "request-log" }).onRequest((context) => {
    contexts.set(context.request, context as Context);
    context.set.headers["x-request-id"] = requestId(context.request);
  });

/** One line in the log and one count in the metrics; never a header, a body, a token or a query. */
export function recordRequest({ log, metrics }: Pick<Deps, "log" | "metrics">, request: Request, status: number, seconds: number) {
  const { route, caller, scope } = contexts.get(request) ?? {};
  const known = { method: request.method, route: route || "unknown" };
  metrics.observe(known.method, known.route, status, seconds);
  log.info({
    requestId: requestId(request),
    ...known,
    status,
    ms: Math.round(seconds * 1e6) / 1e3,
    user: caller?.userId ?? scope?.actor.id,
    organization: scope?.organizationId,
  });
}
