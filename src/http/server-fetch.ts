import type { Server } from "bun";
import type { AnyElysia } from "elysia";
import type { Deps } from "#deps";
import { isReading } from "./body";
import { compressAnswer, isCompressible } from "./compression";
import { answerConditionally, isConditional } from "./conditional";
import { dropNeedlessCors } from "./cors";
import { createDeadlines } from "./deadline";
import { FAILED } from "./errors";
import { exchangeOf } from "./exchange";
import { isHost } from "./host";
import { runKeyed } from "./idempotency";
import { judgeRefusal } from "./refusals";
import { recordRequest } from "./request-log";

const refuse = (status: number, message: string, headers: Record<string, string> = {}) => Response.json({ message }, { status, headers });

const LATE = "The server took too long, most likely because the database is away. Try again in a moment.";

/** Handles each request before the routes: it needs a valid Host, gets an answer in time, and is recorded, however it ends. */
export function createFetch(app: AnyElysia, deps: Pick<Deps, "config" | "sql" | "stamps" | "log" | "metrics" | "denials" | "limits">) {
  const answerInTime = createDeadlines(deps.config.requestTimeout);
  const shortestHost = deps.config.tls ? 3 : 1; // over TLS a shorter one would shift the path that Elysia reads
  const namesOrigins = deps.config.corsOrigins.length > 0;

  function handle(request: Request) {
    const host = request.headers.get("host") ?? "";
    if (host.length < shortestHost || !isHost(host)) return refuse(400, "The Host header must name one host.");
    const key = isReading(request) ? null : request.headers.get("idempotency-key");
    const answer = () => (key === null ? app.fetch(request) : runKeyed(deps, request, key, () => app.fetch(request)));
    return answerInTime(request, answer, () => refuse(503, LATE, { "retry-after": "1" }));
  }

  /** Answers failures while an answer is written, which do not reach the application's own errors. */
  function handleFailure(error: unknown, request: Request) {
    deps.log.error({ err: error, method: request.method, requestId: exchangeOf(request).id }, "unexpected error");
    return refuse(500, FAILED);
  }

  /** Adds what every answer has, and records the request. */
  function finish(request: Request, given: Response, startedAt: number) {
    const { answer, refused } = judgeRefusal(deps, request, given);
    const { headers } = answer;
    const exchange = exchangeOf(request);
    if (namesOrigins) dropNeedlessCors(request, answer);
    headers.set("x-request-id", exchange.id);
    headers.set("x-content-type-options", "nosniff");
    if (!headers.has("cache-control")) headers.set("cache-control", "no-store");
    for (const name in exchange.headers) headers.set(name, exchange.headers[name] ?? "");
    recordRequest(deps, request, answer.status, (performance.now() - startedAt) / 1000, refused);
    return answer;
  }

  return async (request: Request, server: Server<unknown>) => {
    const startedAt = performance.now();
    exchangeOf(request, server);
    deps.metrics.begin();
    let answer: Response;
    try {
      const given = await handle(request);
      if (isConditional(request, given)) answer = await answerConditionally(request, given);
      else answer = isCompressible(request, given) ? await compressAnswer(request, given) : given;
    } catch (error) {
      answer = handleFailure(error, request);
    }
    return finish(request, answer, startedAt);
  };
}
