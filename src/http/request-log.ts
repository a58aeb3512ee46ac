import type { Log } from "#log/log";
import type { Actor } from "#modules/people/audit/queries";
import { exchangeOf } from "./exchange";

type Recorders = { log: Pick<Log, "request">; metrics: { observe: (method: string, route: string, status: number, seconds: number) => void } };
type Refused = { reason: string; peer: string } | undefined;

/** One line in the log and one count in the metrics; never a header, a body, a token or a query. */
export function recordRequest({ log, metrics }: Recorders, request: Request, status: number, seconds: number, refused?: Refused) {
  const { id, route = "unknown", caller, scope, tokenOrganizationId } = exchangeOf(request);
  const { method } = request;
  metrics.observe(method, route, status, seconds);
  log.request({
    requestId: id,
    method,
    route,
    status,
    ms: Math.round(seconds * 1e6) / 1e3,
    user: idUnlessToken(scope?.actor ?? caller),
    apiToken: [scope?.actor, scope?.actor.via, caller].find(isToken)?.id,
    organization: tokenOrganizationId ?? scope?.organizationId,
    ...refused,
  });
}

const isToken = (actor: Actor | undefined) => actor?.type === "api-token";
const idUnlessToken = (actor: Actor | undefined) => (isToken(actor) ? undefined : actor?.id);
