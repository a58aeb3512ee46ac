import { Elysia } from "elysia";
import { bearerToken } from "#auth/authenticate";
import { sha256 } from "#crypto/sha256";
import type { Sql } from "#db/connect";
import type { Deps } from "#deps";
import { readBody } from "#http/body";
import { Refusal } from "#http/errors";
import { exchangeOf } from "#http/exchange";
import { Unauthorized } from "#http/schema";
import type { Scope } from "#modules/people/audit/queries";

const TOKEN = /^cag_[\w-]{43}$/;

export const newAgentToken = () => `cag_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
/** SHA-256, hexadecimal: a token is random enough to need no salt. */
export const hashAgentToken = (token: string) => sha256(token);

type Agent = { organizationId: string; id: string };
/** The query that finds who holds a token may find more, so that some requests need no other. */
type Find<Found extends Agent> = (sql: Sql, tokenHash: string, now: Date) => Promise<Found | undefined>;

/** An agent, by its own token: `agent` is what was found, `scope` what it acts in. */
export const agent = <Found extends Agent>(deps: Deps, find: Find<Found>) =>
  new Elysia()
    .guard({ as: "scoped", response: { 401: Unauthorized(["agentToken"]) } })
    .derive({ as: "scoped" }, async function identify({ request }) {
      const token = bearerToken(request) ?? "";
      if (!TOKEN.test(token)) throw new Refusal(401, "there is no agent token");
      const tokenHash = hashAgentToken(token);
      deps.limits.refuseIfEmpty("agent", tokenHash);
      const found = await find(deps.sql, tokenHash, deps.clock());
      if (!found) throw new Refusal(401, "no agent has this token");
      const { organizationId, id } = found;
      deps.limits.charge(request, { type: "agent", id }, tokenHash);
      const exchange = exchangeOf(request);
      const scope: Scope = { organizationId, actor: { type: "agent", id }, requestId: exchange.id };
      exchange.scope = scope;
      return { agent: found, scope };
    })
    .onTransform({ as: "scoped" }, readBody);
