import { Elysia, ValidationError } from "elysia";
import type { Logger } from "pino";
import { unavailability } from "#db/failures";
import { exchangeOf, requestId } from "./exchange";
import { describeFault } from "./validation-message";

/** A handler or guard throws it to answer with a status and a sentence at once. */
export class Refusal extends Error {
  constructor(
    readonly status: 400 | 401 | 403 | 404 | 413 | 415 | 429 | 503,
    message = "",
    readonly headers: Record<string, string> = {},
    /** For the log and the audit trail; of a 401 the message is never sent. */
    readonly reason = message,
  ) {
    super(message);
  }
}

/** A hook throws it to end a request with an answer that was given before. */
export class Answered extends Error {
  constructor(readonly response: Response) {
    super("answered before");
  }
}

export const FAILED = "The server failed. Its log has the details under this request id.";

const AWAY = "The database is away or too slow. Try again in a moment.";
/** The answer and the log level of each: a full disk is an error, because an operator must act. */
const UNAVAILABLE = {
  away: { message: AWAY, retryAfter: "1", level: "warn" },
  exhausted: { message: "The server has run out of disk, memory or another resource. Try again later.", retryAfter: "30", level: "error" },
  "locked out": { message: AWAY, retryAfter: "30", level: "error" },
} as const;

/** Which methods a path knows; the routes that answer it are there only after the errors. */
export type Router = { methodsAt: (path: string) => string[] };

/** Returns the challenge of RFC 6750: an error only where a bearer token was sent. */
const challenge = ({ headers }: Request) => (/^bearer\s/i.test(headers.get("authorization")?.trim() ?? "") ? 'Bearer error="invalid_token"' : "Bearer");

/** Returns the message and the headers for a refused caller. */
function answerTo({ status, message, headers, reason }: Refusal, request: Request): [message: string, headers: Record<string, string>] {
  exchangeOf(request).reason = reason;
  return status === 401 ? ["", { "www-authenticate": challenge(request) }] : [message, headers];
}

/** Every failure leaves the server as `{ message }`, and what is unexpected is logged, never answered. */
export const errors = ({ log }: { log: Logger }, router: Router) =>
  new Elysia({ name: "errors" })
    .error({ REFUSAL: Refusal, ANSWERED: Answered })
    .onError({ as: "global" }, ({ code, error, set }) => {
      if (code !== "ANSWERED") return;
      set.status = error.response.status;
      return error.response;
    })
    .onError({ as: "global" }, ({ code, error, set, request, path }) => {
      const refuse = (code: number, message: string, headers = {}) => {
        set.status = code;
        return message ? Response.json({ message }, { status: code, headers }) : new Response(null, { status: code, headers });
      };
      if (code === "REFUSAL") return refuse(error.status, ...answerTo(error, request));
      if (code === "NOT_FOUND") {
        const methods = router.methodsAt(path).filter((each) => each !== "OPTIONS"); // that one is for preflights, at any path
        if (methods.length > 0) return refuse(405, `This path answers ${methods.join(", ")}, not ${request.method}.`, { allow: methods.join(", ") });
        return refuse(404, "There is nothing at this path. GET /swagger lists every operation.");
      }
      if (error instanceof ValidationError && error.type !== "response") return refuse(400, describeFault(error));
      const why = unavailability(error);
      if (why) {
        const { message, retryAfter, level } = UNAVAILABLE[why];
        log[level]({ err: error, requestId: requestId(request) }, `database ${why}`);
        return refuse(503, message, { "retry-after": retryAfter });
      }
      log.error({ err: error, method: request.method, requestId: requestId(request) }, "unexpected error");
      return refuse(500, FAILED);
    });
