import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { agentKey, joining } from "#guards/joining";
import { Refusal } from "#http/errors";
import { jsonText, respond } from "#http/respond";
import { Message } from "#http/schema";
import { createStateSigner } from "#modules/fleet/signing-keys/services/signer";
import { type Access, changeOver, findJoinToken, joinByToken, renewCredential } from "./queries/joining";
import { hashAgentToken, newCredential } from "./rules";
import { AgentAccess, Join } from "./schema";

const KNOWN_KEY = "An agent has this key already. Make a new key pair, or renew with POST /agent/credentials.";

/** The routes of a host and its agent, for signed requests. */
export function agentAccess(deps: Deps) {
  const signer = createStateSigner(deps);

  async function answer(access: Access, credential: string) {
    const signingKey = await signer.publicKeyOf(access.organizationId);
    return jsonText(JSON.stringify({ ...access, credential, signingKey }), 201, { "cache-control": "no-store" });
  }

  const join = new Elysia().use(joining(deps)).post(
    "/join",
    async ({ scope, entry, publicKey, body: { name, host } }) => {
      const credential = newCredential();
      const guest = { publicKey, name, host, credentialHash: hashAgentToken(credential) };
      const joined = await (entry.kind === "token"
        ? changeOver(deps.sql, deps.stamps, scope, entry.proof.facts, guest, deps.clock())
        : joinByToken(deps.sql, deps.stamps, scope, entry.facts, guest, deps.clock()));
      if (joined === "known key") return respond({ invalid: KNOWN_KEY });
      if (joined) return answer(joined, credential);
      const refusal = entry.kind === "join-token" && (await findJoinToken(deps.sql, entry.facts.tokenHash, deps.clock()))?.refusal;
      throw refusal ? new Refusal(403, refusal) : new Refusal(401, "what the host joins with ended meanwhile");
    },
    {
      body: Join,
      response: { 201: AgentAccess, 400: Message },
      detail: {
        operationId: "joinAgent",
        summary: "Become an agent",
        description:
          "With a join token the host is a new agent, or the one that the token is for; with its long-lived token it changes over to a key, and that token ends.",
      },
    },
  );

  const renew = new Elysia().use(agentKey(deps)).post(
    "/credentials",
    async ({ scope, agentId, publicKey }) => {
      const credential = newCredential();
      const renewed = await renewCredential(deps.sql, deps.stamps, scope, agentId, { publicKey, credentialHash: hashAgentToken(credential) }, deps.clock());
      if (!renewed) throw new Refusal(401, "the agent's key ended meanwhile");
      return answer(renewed, credential);
    },
    {
      response: { 201: AgentAccess, 400: Message },
      detail: {
        operationId: "renewCredential",
        summary: "Get a new credential, by the agent's key",
        description: "Good for a day. Earlier ones go on until they end, so that several processes may renew.",
      },
    },
  );

  return new Elysia({ prefix: "/agent", tags: ["Agents"] }).use(join).use(renew);
}
