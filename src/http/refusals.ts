import type { Server } from "bun";
import { networkOf } from "#auth/cidr";
import type { Deps } from "#deps";
import { peerAddress } from "./peer-address";
import { requestId } from "./request-id";
import { describeRequest } from "./request-log";
import { isUuid } from "./schema";

type Needs = Pick<Deps, "denials" | "limits">;

/**
 * What becomes of an answer that refuses: 401 and 403 are audit events. Where the caller is not known, they are charged to the address,
 * and when that has none left, the answer is 429 in their place. Somebody with a valid credential behind the same address never notices.
 */
export function judgeRefusal(deps: Needs, request: Request, server: Server<unknown> | null, answer: Response) {
  if (answer.status !== 401 && answer.status !== 403 && answer.status !== 429) return { answer };
  const peer = peerAddress(request, server);
  const { reason, ...about } = describeRequest(request);
  const refused = { reason, peer };
  if (answer.status === 429) return { answer, refused };
  const network = networkOf(peer);
  deps.denials.add({
    organizationId: isUuid(about.organizationId) ? about.organizationId : undefined,
    actor: about.caller ?? { type: "anonymous" },
    action: "access.denied",
    targetType: "route",
    targetId: `${request.method} ${about.route}`,
    requestId: requestId(request),
    details: { status: answer.status, reason, peer: network },
  });
  const limit = about.caller ? undefined : deps.limits.chargeAddress(network);
  if (!limit) return { answer, refused };
  const headers = new Headers(answer.headers);
  for (const name of ["www-authenticate", "content-length"]) headers.delete(name);
  for (const [name, value] of Object.entries({ ...limit.headers, "content-type": "application/json" })) headers.set(name, value);
  return { answer: new Response(JSON.stringify({ message: limit.message }), { status: 429, headers }), refused };
}
