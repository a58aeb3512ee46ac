import type { AnyElysia } from "elysia";
import { withDeadline } from "./deadline";

const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(:\d{1,5})?$/i;

const refuse = (status: number, message: string, headers: Record<string, string> = {}) =>
  Response.json({ message }, { status, headers: { "x-request-id": crypto.randomUUID(), ...headers } });

/** What stands before the routes: a sane Host, an answer in time, and 405 where another method would do. */
export function createFetch(app: AnyElysia) {
  const handle = withDeadline(
    (request) => app.fetch(request),
    () => refuse(503, "The server took too long, most likely because the database is away. Try again in a moment.", { "retry-after": "1" }),
  );
  return (request: Request) => (HOST.test(request.headers.get("host") ?? "") ? handle(request) : refuse(400, "The Host header must name one host."));
}
