import { Elysia } from "elysia";
import { claimedKey, type Proof, proveRequest } from "#auth/agent-proof";
import { bearerToken } from "#auth/authenticate";
import { isStandingAgent } from "#auth/standing";
import { isPublicKey } from "#crypto/ed25519";
import type { Deps } from "#deps";
import { claimBody, parseBody, receiveBody } from "#http/body";
import { Refusal } from "#http/errors";
import { exchangeOf, hideContext } from "#http/exchange";
import { Message, Unauthorized } from "#http/schema";
import { findKeyHolder } from "#modules/fleet/agent-access/queries/holders";
import { type Entry, findEntry } from "#modules/fleet/agent-access/queries/joining";
import { isJoinTokenProven } from "#modules/fleet/agent-access/queries/stamps";
import { readJoining } from "#modules/fleet/agent-access/rules";
import type { Scope } from "#modules/people/audit/queries";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";

type Context = { request: Request; body: unknown };

const NO_KEY = "The keyid of signature-input must be an Ed25519 public key: the base64url of its 32 bytes, 43 characters.";

/**
 * A host that joins: by a join token, or by the long-lived token of its agent, and a signature of the key that it is to have:
 * `publicKey`.
 */
export const joining = (deps: Deps) =>
  new Elysia({ name: "joining" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["joinToken", "agentSignature"], ["agentToken", "agentSignature"]), 403: Message } })
    .derive(
      { as: "scoped" },
      hideContext(async (context: Context) => {
        const { request } = context;
        const shown = readJoining(bearerToken(request) ?? "");
        const entry = shown && (await findEntry(deps.sql, shown, deps.clock()));
        if (!shown || !entry) throw new Refusal(401, "there is no join token, or no such one");
        const exchange = exchangeOf(request);
        const { kind, organizationId, id } = entry;
        const scope: Scope = { organizationId, actor: { type: kind === "token" ? "agent" : "join-token", id }, requestId: exchange.id };
        exchange.scope = scope;
        const refusal = await whyRefused(deps, entry);
        if (refusal !== undefined) throw new Refusal(403, refusal);
        const body = await receiveBody(request);
        const key = claimedKey(request);
        if (key !== "" && !isPublicKey(key)) throw new Refusal(400, NO_KEY);
        const { publicKey } = proveOwn(deps, request, body);
        await parseBody(context, body);
        await claimBody(request, body);
        return { scope, entry, publicKey };
      }),
    );

/** An agent that renews: by its key alone, so that neither a lost credential nor one that has ended keeps it out. */
export const agentKey = (deps: Deps) =>
  new Elysia({ name: "agent-key" }).guard({ as: "scoped", response: { 401: Unauthorized(["agentSignature"]) } }).derive(
    { as: "scoped" },
    hideContext(async (context: Context) => {
      const { request } = context;
      const key = claimedKey(request);
      const found = key === "" ? undefined : await findKeyHolder(deps.sql, key, deps.clock());
      if (!found) throw new Refusal(401, key === "" ? "there is no signature by an agent's key" : "no agent has this key, or it has ended");
      const { organizationId, id, proof } = found;
      const exchange = exchangeOf(request);
      exchange.scope = { organizationId, actor: { type: "anonymous" } };
      if (!(await isStandingAgent(deps, proof))) throw new Refusal(401, `nothing proves that a server gave the agent ${id} its key`);
      const body = await receiveBody(request);
      const { publicKey } = proveOwn(deps, request, body);
      deps.limits.charge(request, { type: "agent", id }, publicKey);
      const scope: Scope = { organizationId, actor: { type: "agent", id }, requestId: exchange.id };
      exchange.scope = scope;
      await parseBody(context, body);
      await claimBody(request, body);
      return { scope, agentId: id, publicKey };
    }),
  );

/** Returns why this lets no host join any more, or not yet; also where no stamp proves that a server made it. */
async function whyRefused(deps: Deps, entry: Entry) {
  if (entry.kind === "token") return (await isStandingAgent(deps, entry.proof)) ? undefined : `The agent ${entry.id} ${UNPROVEN}. ${TO_TRUST}`;
  if (!isJoinTokenProven(deps.stamps, entry.stamp, entry.facts)) return `This join token ${UNPROVEN}. Ask for another. ${TO_TRUST}`;
  return entry.refusal ?? undefined;
}

function proveOwn(deps: Deps, request: Request, body: Uint8Array): Proof {
  const proof = proveRequest(request, body, deps.clock());
  if ("reason" in proof) throw new Refusal(401, proof.reason);
  if (!deps.nonces.use(proof.publicKey, proof.nonce, deps.clock())) throw new Refusal(401, "a signed request was played back");
  return proof;
}
