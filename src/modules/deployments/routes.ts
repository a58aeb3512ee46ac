import { Elysia } from "elysia";
import type { Deps } from "../../deps";
import { agent } from "../../guards/agent";
import { matchesNone } from "../../http/etag";
import { jsonText } from "../../http/page";
import { Empty, Message } from "../../http/schema";
import { findDesiredState, saveReports } from "./queries";
import { AgentReport, DesiredState } from "./schema";

export const deployments = (deps: Deps) =>
  new Elysia({ prefix: "/agent", tags: ["Agents"] })
    .use(agent(deps))
    .get(
      "/assignments",
      async ({ agent, request, set, status }) => {
        const known = request.headers.get("if-none-match")?.match(/\b[0-9a-f]{64}\b/g) ?? [];
        const { tag, json } = await findDesiredState(deps.sql, deps.config.secretsKey, agent, known);
        const caching = { etag: `"${tag}"`, "cache-control": "no-store" };
        if (!matchesNone(request.headers, caching.etag)) return jsonText(json, 200, caching);
        Object.assign(set.headers, caching);
        return status(304, "");
      },
      {
        response: { 200: DesiredState, 304: Empty },
        detail: {
          operationId: "getDesiredState",
          summary: "What must be installed on this agent's host",
          description: "The whole of it: the enabled assignments of certificates that are neither revoked nor retired. Ask with If-None-Match.",
        },
      },
    )
    .post(
      "/reports",
      async ({ agent, scope, body, status }) => {
        const seen = new Set<string>();
        const repeated = body.reports.findIndex(({ assignmentId }) => seen.size === seen.add(assignmentId.toLowerCase()).size);
        if (repeated >= 0) return status(400, { message: `body.reports.${repeated}.assignmentId is in an earlier report of this request.` });
        const unknown = await saveReports(deps.sql, scope, agent.id, body, deps.clock());
        if (unknown === undefined) return status(204, "");
        return status(404, { message: `body.reports.${unknown}.assignmentId is no assignment of this agent. No report was kept.` });
      },
      {
        body: AgentReport,
        response: { 204: Empty, 400: Message, 404: Message },
        detail: {
          operationId: "reportDeployments",
          summary: "Report what is installed",
          description: "All reports are kept, or none. Sending them again changes nothing.",
        },
      },
    );
