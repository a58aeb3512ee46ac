import type { Server } from "bun";
import type { AnyElysia } from "elysia";
import type { Deps } from "#deps";
import { isReading } from "./body";
import { compressAnswer } from "./compression";
import { dropNeedlessCors } from "./cors";
import { withDeadline } from "./deadline";
import { FAILED } from "./errors";
import { isHost } from "./host";
import { runKeyed } from "./idempotency";
import { judgeRefusal } from "./refusals";
import { requestId } from "./request-id";
import { recordRequest } from "./request-log";

const refuse = (request: Request, status: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ message }, { status, headers: { "x-request-id": requestId(request), ...headers } });

const LATE = "The server took too long, most likely because the database is away. Try again in a moment.";

/** What stands before the routes: a sane Host, an answer in time, and a record of every request, however it ends. */
export function createFetch(app: AnyElysia, deps: Pick<Deps, "config" | "sql" | "log" | "metrics" | "denials" | "limits">) {
  const handle = withDeadline(
    (request) => {
      const key = isReading(request) ? null : request.headers.get("idempotency-key");
      return key === null ? app.fetch(request) : runKeyed(deps, request, key, () => app.fetch(request));
    },
    (request) => refuse(request, 503, LATE, { "retry-after": "1" }),
  );
  async function answerOf(request: Request) {
    if (!isHost(request.headers.get("host") ?? "")) return refuse(request, 400, "The Host header must name one host.");
    try {
      return await compressAnswer(request, await handle(request));
    } catch (error) {
      // What fails while an answer is written passes by the application's own errors.
      deps.log.error({ err: error, method: request.method, requestId: requestId(request) }, "unexpected error");
      return refuse(request, 500, FAILED);
    }
  }

  return async (request: Request, server: Server<unknown>) => {
    const startedAt = performance.now();
    deps.metrics.begin();
    const { answer, refused } = judgeRefusal(deps, request, server, await answerOf(request));
    dropNeedlessCors(request, answer);
    answer.headers.set("x-content-type-options", "nosniff");
    if (!answer.headers.has("cache-control")) answer.headers.set("cache-control", "no-store");
    recordRequest(deps, request, answer.status, (performance.now() - startedAt) / 1000, refused);
    return answer;
  };
}
