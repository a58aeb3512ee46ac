import { connectDatabase } from "#db/connect";
import { hashAgentToken } from "#modules/fleet/agent-access/rules";
import { findPollingAgent } from "#modules/fleet/agent-protocol/queries/desired-state";

/** The least that can answer a poll: one handler, the one query, a comparison. */
if (import.meta.main) {
  const [, , port = "", url = ""] = Bun.argv;
  const sql = connectDatabase(url).$client;
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    async fetch({ headers }) {
      const token = headers.get("authorization")?.slice("Bearer ".length) ?? "";
      const agent = await findPollingAgent(sql, { kind: "token", hash: hashAgentToken(token) }, new Date());
      return new Response(null, { status: headers.get("if-none-match") === `"${agent?.tag}"` ? 304 : 404 });
    },
  });
}
