import type { AnyElysia } from "elysia";
import type { Deps } from "../deps";
import { withDeadline } from "./deadline";
import { FAILED } from "./errors";
import { requestId } from "./request-id";
import { recordRequest } from "./request-log";

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;

const refuse = (request: Request, status: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ message }, { status, headers: { "x-request-id": requestId(request), ...headers } });

const LATE = "The server took too long, most likely because the database is away. Try again in a moment.";

/** What stands before the routes: a sane Host, an answer in time, and a record of every request, however it ends. */
export function createFetch(app: AnyElysia, deps: Pick<Deps, "log" | "metrics">) {
  const handle = withDeadline(
    (request) => app.fetch(request),
    (request) => refuse(request, 503, LATE, { "retry-after": "1" }),
  );
  async function answerOf(request: Request) {
    if (!HOST.test(request.headers.get("host") ?? "")) return refuse(request, 400, "The Host header must name one host.");
    try {
      return await handle(request);
    } catch (error) {
      // What fails while an answer is written passes by the application's own errors.
      deps.log.error({ err: error, method: request.method, requestId: requestId(request) }, "unexpected failure");
      return refuse(request, 500, FAILED);
    }
  }

  return async (request: Request) => {
    const startedAt = performance.now();
    deps.metrics.begin();
    const answer = await answerOf(request);
    recordRequest(deps, request, answer.status, (performance.now() - startedAt) / 1000);
    return answer;
  };
}
