import { Elysia } from "elysia";
import type { Deps } from "#deps";
import type { Actor, Scope } from "#modules/people/audit/queries";
import { requestId } from "./request-id";

type Context = {
  route?: string;
  params?: { organizationId?: string };
  set: { headers: Record<string, unknown> };
  caller?: Partial<Record<"userId" | "apiTokenId" | "organizationId", string>>;
  scope?: Pick<Scope, "organizationId" | "actor">;
};
/** What became known of a request while it was answered. */
type Seen = { context: Context; caller?: Actor; reason?: string };
const requests = new WeakMap<Request, Seen>();

/** Gives each answer its id, and remembers whose request it was and which route answered. */
export const requestLog = () =>
  new Elysia({ name: "request-log" }).onRequest((context) => {
    requests.set(context.request, { context: context as Context });
    context.set.headers["x-request-id"] = requestId(context.request);
  });

/** Notes who calls, for the log and the audit trail. Returns the headers of the answer to come. */
export function noteCaller(request: Request, caller: Actor): Record<string, unknown> {
  const seen = requests.get(request);
  if (!seen) return {};
  seen.caller = caller;
  return seen.context.set.headers;
}

/** Notes why a request is refused, for the log and the audit trail: never a value of the request. */
export function noteReason(request: Request, reason: string) {
  const seen = requests.get(request);
  if (seen) seen.reason = reason;
}

/** What is known of a request that was refused. */
export function describeRequest(request: Request) {
  const { context, caller, reason } = requests.get(request) ?? {};
  const organizationId = context?.scope?.organizationId ?? context?.params?.organizationId?.toLowerCase();
  return { route: context?.route || "unknown", caller, reason: reason || "refused by the operation", organizationId };
}

type Refused = { reason: string; peer: string } | undefined;

/** One line in the log and one count in the metrics; never a header, a body, a token or a query. */
export function recordRequest({ log, metrics }: Pick<Deps, "log" | "metrics">, request: Request, status: number, seconds: number, refused?: Refused) {
  const { context: { route, caller, scope } = {}, caller: noted } = requests.get(request) ?? {};
  const known = { method: request.method, route: route || "unknown" };
  metrics.observe(known.method, known.route, status, seconds);
  log.info({
    requestId: requestId(request),
    ...known,
    status,
    ms: Math.round(seconds * 1e6) / 1e3,
    user: caller?.userId ?? idUnlessToken(scope?.actor ?? noted),
    apiToken: caller?.apiTokenId ?? [scope?.actor, scope?.actor.via, noted].find(isToken)?.id,
    organization: caller?.organizationId ?? scope?.organizationId,
    ...refused,
  });
}

const isToken = (actor: Actor | undefined) => actor?.type === "api-token";
const idUnlessToken = (actor: Actor | undefined) => (isToken(actor) ? undefined : actor?.id);
