import type { Server } from "bun";
import { Elysia } from "elysia";
import type { Actor, Scope } from "#modules/people/audit/queries";

/** A request while it is answered, and what has become known of it. */
type Exchange = {
  id: string;
  /** Null for a call inside the process. */
  server: Server<unknown> | null;
  peer?: string;
  /** The pattern of the route's path. */
  route?: string;
  /** The organization in the path, as it was sent. */
  pathOrganizationId?: string | undefined;
  /** Throws where too much waits for the database. */
  admit?: () => void;
  /** The authenticated caller, and the organization it acts for. */
  caller?: Actor;
  scope?: Pick<Scope, "organizationId" | "actor">;
  /** The organization of an API token that acts in no scope. */
  tokenOrganizationId?: string;
  /** Why it is refused. */
  reason?: string;
  /** Headers of the answer, whatever it will be. */
  headers: Record<string, string>;
};

const SANE_ID = /^[\w.:-]{1,100}$/;
const MAPPED = /^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i;

/** The exchange is kept on the request itself: a WeakMap's look-ups cost more. */
const EXCHANGE = Symbol("exchange");
type Noted = Request & { [EXCHANGE]?: Exchange };

/** Returns what is known of the request. Its id is the caller's own `x-request-id` if that is sane, else a new one. */
export function exchangeOf(request: Noted, server: Server<unknown> | null = null): Exchange {
  request[EXCHANGE] ??= open(request, server);
  return request[EXCHANGE];
}

function open({ headers }: Request, server: Server<unknown> | null): Exchange {
  const given = headers.get("x-request-id");
  return { id: given !== null && SANE_ID.test(given) ? given : crypto.randomUUID(), server, headers: {} };
}

/** Notes which route answers, for the log and the audit trail. */
export const noteRoutes = () =>
  new Elysia({ name: "note-routes" }).onTransform({ as: "global" }, ({ request, route, params }) => {
    const exchange = exchangeOf(request);
    exchange.route = route;
    exchange.pathOrganizationId = (params as { organizationId?: string } | undefined)?.organizationId;
  });

/**
 * Hides that a hook uses the whole context: Elysia reads its source, and would parse cookies, query and headers of every
 * request. It cannot read a bound function.
 */
export const hideContext = <Hook extends (context: never) => unknown>(hook: Hook) => hook.bind(undefined) as Hook;

export const requestId = (request: Request) => exchangeOf(request).id;

/** Returns the address of the socket's peer, IPv4 as such; "unknown" once it hung up. A call inside the process counts as loopback. */
export function peerAddress(request: Request) {
  const exchange = exchangeOf(request);
  exchange.peer ??= exchange.server ? (exchange.server.requestIP(request)?.address.replace(MAPPED, "") ?? "unknown") : "127.0.0.1";
  return exchange.peer;
}
