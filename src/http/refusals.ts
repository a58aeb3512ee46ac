import { networkOf } from "#auth/cidr";
import type { Deps } from "#deps";
import { isUuid } from "#text/uuid";
import { exchangeOf, peerAddress } from "./exchange";

type RefusalDeps = Pick<Deps, "denials" | "limits">;

/**
 * Writes an audit event for each 401 and 403. Those of unknown callers count against their address's limit, and become 429
 * beyond it; callers with a valid credential are not affected.
 */
export function judgeRefusal(deps: RefusalDeps, request: Request, answer: Response) {
  if (answer.status !== 401 && answer.status !== 403 && answer.status !== 429) return { answer };
  const peer = peerAddress(request);
  const { id, route = "unknown", caller, scope, pathOrganizationId, reason = "" } = exchangeOf(request);
  const refused = { reason: reason || "refused by the operation", peer };
  if (answer.status === 429) return { answer, refused };
  const network = networkOf(peer);
  deps.denials.add({
    organizationId: scope?.organizationId ?? (isUuid(pathOrganizationId) ? pathOrganizationId.toLowerCase() : undefined),
    actor: caller ?? { type: "anonymous" },
    action: "access.denied",
    targetType: "route",
    targetId: `${request.method} ${route}`,
    requestId: id,
    details: { status: answer.status, reason: refused.reason, peer: network },
  });
  const limit = caller ? undefined : deps.limits.chargeAddress(network);
  if (!limit) return { answer, refused };
  const headers = new Headers(answer.headers);
  for (const name of ["www-authenticate", "content-length"]) headers.delete(name);
  for (const [name, value] of Object.entries({ ...limit.headers, "content-type": "application/json" })) headers.set(name, value);
  return { answer: new Response(JSON.stringify({ message: limit.message }), { status: 429, headers }), refused };
}
