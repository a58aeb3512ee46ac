import { Elysia } from "elysia";
import { proveRequest, readNonce } from "#auth/agent-proof";
import { bearerToken } from "#auth/authenticate";
import { networkOf } from "#auth/cidr";
import { isStandingAgent } from "#auth/standing";
import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { claimBody, isReading, parseBody, receiveBody } from "#http/body";
import { Refusal } from "#http/errors";
import { exchangeOf, hideContext, peerAddress } from "#http/exchange";
import { Unauthorized } from "#http/schema";
import { type Holder, isHolderProven, noteMisuse } from "#modules/fleet/agent-access/queries/holders";
import { readShown, type Shown } from "#modules/fleet/agent-access/rules";
import type { Scope } from "#modules/people/audit/queries";

/** The query that finds who holds what was shown may find more, so that some requests need no other. */
type Find<Found extends Holder> = (sql: Sql, shown: Shown, now: Date) => Promise<Found | undefined>;
type Context = { request: Request; body: unknown };

/** An agent, by its long-lived token, or by a credential and a signature of its key: `agent` is what was found, `scope` what it acts in. */
export const agent = <Found extends Holder>(deps: Deps, find: Find<Found>) =>
  new Elysia().guard({ as: "scoped", response: { 401: Unauthorized(["agentToken"], ["agentCredential", "agentSignature"]) } }).derive(
    { as: "scoped" },
    hideContext(async (context: Context) => enter(deps, find, context)),
  );

async function enter<Found extends Holder>(deps: Deps, find: Find<Found>, context: Context) {
  const { request } = context;
  const shown = readShown(bearerToken(request) ?? "");
  if (!shown) throw new Refusal(401, "there is no agent token");
  deps.limits.refuseIfEmpty("agent", shown.hash);
  const found = await find(deps.sql, shown, deps.clock());
  if (!found) throw new Refusal(401, shown.kind === "token" ? "no agent has this token" : "no agent has this credential, or it has ended");
  const { organizationId, id, publicKey } = found;
  const exchange = exchangeOf(request);
  if (!(await isStandingAgent(deps, found.proof)) || !isHolderProven(deps.stamps, found, shown)) {
    exchange.scope = { organizationId, actor: { type: "anonymous" } };
    throw new Refusal(401, `nothing proves that a server gave the agent ${id} what it shows`);
  }
  let body: Uint8Array | undefined;
  if (publicKey !== null) {
    exchange.scope = { organizationId, actor: { type: "anonymous" } };
    body = isReading(request) ? undefined : await receiveBody(request);
    prove(deps, request, body, { ...found, publicKey });
  }
  deps.limits.charge(request, { type: "agent", id }, shown.hash);
  const scope: Scope = { organizationId, actor: { type: "agent", id }, requestId: exchange.id };
  exchange.scope = scope;
  if (!isReading(request)) {
    body ??= await receiveBody(request);
    await parseBody(context, body);
    await claimBody(request, body);
  }
  return { agent: { ...found, nonce: readNonce(request) }, scope };
}

/** Refuses what is not signed with the agent's key: without it a credential opens nothing, and that it was shown is logged. */
function prove(deps: Deps, request: Request, body: Uint8Array | undefined, { organizationId, id, publicKey }: Holder & { publicKey: string }) {
  const proof = proveRequest(request, body, deps.clock(), publicKey);
  if ("nonce" in proof) {
    if (deps.nonces.use(publicKey, proof.nonce, deps.clock())) return;
    throw new Refusal(401, `a request of the agent ${id} was played back`);
  }
  if (!proof.isAnothers) throw new Refusal(401, `the agent ${id}: ${proof.reason}`);
  deps.denials.add({
    organizationId,
    actor: { type: "anonymous" },
    action: "agent.credential-misused",
    targetType: "agent",
    targetId: id,
    requestId: exchangeOf(request).id,
    details: { reason: proof.reason, peer: networkOf(peerAddress(request)) },
  });
  // Not awaited: the answer does not wait for a note.
  noteMisuse(deps.sql, { organizationId, id }, deps.clock()).catch((error) => deps.log.warn({ err: error }, "storing the misuse of a credential failed"));
  throw new Refusal(401, `a credential of the agent ${id} was shown without its key: ${proof.reason}`);
}
