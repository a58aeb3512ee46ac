import { Elysia } from "elysia";
import type { Deps } from "../deps";

const SANE_ID = /^[\w.:-]{1,100}$/;
const startedAt = new WeakMap<Request, number>();

type Facts = { caller?: { userId: string }; scope?: { organizationId: string; actor: { id?: string } } };

/** Gives each request its id and, once it is answered, one line in the log and one count in the metrics. */
export const requestLog = ({ log, metrics }: Pick<Deps, "log" | "metrics">) =>
  new Elysia({ name: "request-log" })
    .onRequest(({ request, set }) => {
      startedAt.set(request, performance.now());
      metrics.begin();
      const given = request.headers.get("x-request-id");
      set.headers["x-request-id"] = given && SANE_ID.test(given) ? given : crypto.randomUUID();
    })
    .onAfterResponse({ as: "global" }, (context) => {
      const { request, set, route, responseValue } = context;
      const seconds = (performance.now() - (startedAt.get(request) ?? performance.now())) / 1000;
      const status = responseValue instanceof Response ? responseValue.status : Number(set.status ?? 200);
      const { caller, scope } = context as Facts;
      metrics.observe(request.method, route || "unknown", status, seconds);
      log.info({
        requestId: set.headers["x-request-id"],
        method: request.method,
        route: route || "unknown",
        status,
        ms: Math.round(seconds * 1e6) / 1e3,
        user: caller?.userId ?? scope?.actor.id,
        organization: scope?.organizationId,
      });
    });
