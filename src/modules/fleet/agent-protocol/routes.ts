import { Elysia } from "elysia";
import type { Deps } from "#deps";
import { agent } from "#guards/agent";
import { Refusal } from "#http/errors";
import { matchesNone } from "#http/etag";
import { jsonText, respond } from "#http/respond";
import { Empty, Message } from "#http/schema";
import { findHolder } from "#modules/fleet/agent-access/queries/holders";
import { listSuccessors } from "#modules/fleet/signing-keys/queries";
import { SuccessorQuery, Successors } from "#modules/fleet/signing-keys/schema";
import { createStateSigner } from "#modules/fleet/signing-keys/services/signer";
import type { Scope } from "#modules/people/audit/queries";
import { type Asking, findPollingAgent, noteUnproven, type PollingAgent, type UnprovenNews } from "./queries/desired-state";
import { saveReports } from "./queries/reports";
import { AgentReport, DesiredState } from "./schema";
import { findDesiredState } from "./services/desired-state";

const caching = (tag: string) => ({ etag: `"${tag}"`, "cache-control": "no-store" });

const UNPROVEN = "an assignment is held: it was changed in the database, and not by a server, so its host keeps what it has";

function desiredState(deps: Deps) {
  const signer = createStateSigner(deps);

  /** Signs the answer to an agent that asks for that by a nonce: one of a release that knows no signatures does not. */
  async function sign({ organizationId, id, nonce, signingKey }: Asking & PollingAgent, tag: string, answer: { status: number; content?: string }) {
    return nonce === undefined ? {} : signer.sign({ organizationId, agentId: id, tag, nonce }, signingKey, answer);
  }

  /** Once for each assignment: a log line and an audit event. */
  async function report(scope: Scope, { id }: PollingAgent, holding: UnprovenNews) {
    if (holding.held.length + holding.released.length === 0) return;
    for (const { id: assignment, why } of holding.held) deps.log.error({ organization: scope.organizationId, agent: id, assignment, reason: why }, UNPROVEN);
    await noteUnproven(deps.sql, { ...scope, actor: { type: "server" } }, id, holding);
  }

  return new Elysia().use(agent(deps, findPollingAgent)).get(
    "/assignments",
    async ({ agent, scope, request, set, status }) => {
      const known = caching(agent.tag);
      if (matchesNone(request.headers, known.etag)) {
        Object.assign(set.headers, known, await sign(agent, agent.tag, { status: 304 }));
        return status(304, "");
      }
      const desired = await findDesiredState(
        deps.sql,
        { keyring: deps.config.keyring, stamps: deps.stamps },
        agent,
        scope.requestId,
        request.method !== "HEAD",
      );
      if (!desired) throw new Refusal(401, "the agent was deleted meanwhile");
      if (desired === "played back") throw new Refusal(401, `a request of the agent ${agent.id} was played back`);
      const { tag, json: content, holding } = desired;
      await report(scope, agent, holding);
      return jsonText(content, 200, { ...caching(tag), ...(await sign(agent, tag, { status: 200, content })) });
    },
    {
      response: { 200: DesiredState, 304: Empty },
      detail: {
        operationId: "getDesiredState",
        summary: "What must be installed on this agent's host",
        description: "The whole of it: the enabled assignments of certificates that are neither revoked nor retired. Ask with If-None-Match.",
      },
    },
  );
}

const reports = (deps: Deps) =>
  new Elysia().use(agent(deps, findHolder)).post(
    "/reports",
    async ({ agent, scope, body }) => {
      const seen = new Set<string>();
      const repeated = body.reports.findIndex(({ assignmentId }) => seen.size === seen.add(assignmentId.toLowerCase()).size);
      if (repeated >= 0) return respond({ invalid: `body.reports.${repeated}.assignmentId is in an earlier report of this request.` });
      const unknown = await saveReports(deps.sql, scope, agent.id, body, deps.clock());
      if (unknown === undefined) return respond("done");
      return respond({ missing: `body.reports.${unknown}.assignmentId is no assignment of this agent. No report was kept.` });
    },
    {
      body: AgentReport,
      response: { 204: Empty, 400: Message, 404: Message },
      detail: {
        operationId: "reportDeployments",
        summary: "Report what is installed",
        description:
          "All reports are kept, or none. Sending them again changes nothing but the times of the last one. `refused` says that the policy of the host does not permit it; the message names the command by which an administrator of the host would.",
      },
    },
  );

export const agentProtocol = (deps: Deps) => new Elysia({ prefix: "/agent", tags: ["Agents"] }).use(desiredState(deps)).use(reports(deps));

/** How an agent follows a rotation: from the key that it trusts to the one that signs now. */
export const keySuccessors = (deps: Deps) =>
  new Elysia({ prefix: "/agent", tags: ["Agents"] })
    .use(agent(deps, findHolder))
    .get(
      "/signing-keys",
      async ({ agent, query }) =>
        jsonText(JSON.stringify(await listSuccessors(deps.sql, agent.organizationId, query.of)), 200, { "cache-control": "no-store" }),
      {
        query: SuccessorQuery,
        response: { 200: Successors, 400: Message },
        detail: { operationId: "listSuccessors", summary: "What endorsed keys follow the one that the agent trusts" },
      },
    );
