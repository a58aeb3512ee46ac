import { Elysia } from "elysia";
import type { Deps } from "../deps";
import { readBody } from "../http/body";
import { Refusal } from "../http/errors";
import { Unauthorized } from "../http/schema";
import { findAgentByToken } from "../modules/agents/queries";
import type { Scope } from "../modules/audit/queries";
import { bearerToken } from "./authenticate";

const TOKEN = /^cag_[\w-]{43}$/;

export const newAgentToken = () => `cag_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64url")}`;
/** SHA-256, hexadecimal: a token is random enough to need no salt. */
export const hashAgentToken = (token: string) => new Bun.CryptoHasher("sha256").update(token).digest("hex");

/** An agent, by its own token: `agent`, and the `scope` that it acts in. */
export const agent = (deps: Deps) =>
  new Elysia({ name: "agent" })
    .guard({ as: "scoped", response: { 401: Unauthorized(["agentToken"]) } })
    .derive({ as: "scoped" }, async function identify({ request, set }) {
      const token = bearerToken(request) ?? "";
      const found = TOKEN.test(token) ? await findAgentByToken(deps.sql, hashAgentToken(token), deps.clock()) : undefined;
      if (!found) throw new Refusal(401);
      const { organizationId, id } = found;
      const scope: Scope = { organizationId, actor: { type: "agent", id }, requestId: String(set.headers["x-request-id"] ?? "") };
      return { agent: found, scope };
    })
    .onTransform({ as: "scoped" }, readBody);
