import { Elysia, ValidationError } from "elysia";
import { isDatabaseAway } from "../db/connect";
import type { Deps } from "../deps";
import { describeFault } from "./faults";

/** What a handler or guard throws to answer with a status and a sentence at once. */
export class Refusal extends Error {
  constructor(
    readonly status: 400 | 401 | 403 | 404 | 413 | 415 | 429 | 503,
    message = "",
    readonly headers: Record<string, string> = {},
  ) {
    super(message);
  }
}

export const FAILED = "The server failed. Its log has the details under this request id.";

/** Which methods a path knows; the routes that answer it are there only after the errors. */
export type Router = { methodsAt: (path: string) => string[] };

/** Every failure leaves the server as `{ message }`, and what nobody foresaw is logged, never told. */
export const errors = ({ log }: Pick<Deps, "log">, router: Router) =>
  new Elysia({ name: "errors" }).error({ REFUSAL: Refusal }).onError({ as: "global" }, ({ code, error, set, request, path }) => {
    const refuse = (code: number, message: string, headers = {}) => {
      Object.assign(set.headers, headers);
      set.status = code;
      return message ? Response.json({ message }, { status: code }) : new Response(null, { status: code });
    };
    if (code === "REFUSAL") return refuse(error.status, error.message, error.headers);
    if (code === "NOT_FOUND") {
      const methods = router.methodsAt(path).filter((each) => each !== "OPTIONS"); // that one is for preflights, at any path
      if (methods.length > 0) return refuse(405, `This path answers ${methods.join(", ")}, not ${request.method}.`, { allow: methods.join(", ") });
      return refuse(404, "There is nothing at this path. GET /swagger lists every operation.");
    }
    if (error instanceof ValidationError && error.type !== "response") return refuse(400, describeFault(error));
    if (isDatabaseAway(error)) {
      log.warn({ err: error, requestId: set.headers["x-request-id"] }, "database away");
      return refuse(503, "The database is away or too slow. Try again in a moment.", { "retry-after": "1" });
    }
    log.error({ err: error, method: request.method, requestId: set.headers["x-request-id"] }, "unexpected failure");
    return refuse(500, FAILED);
  });
