import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { agent } from "#guards/agent";
import { respond } from "#http/respond";
import { Empty, Message, PathId } from "#http/schema";
import { findHolder } from "#modules/fleet/agent-access/queries/holders";
import { noteChallenges } from "../queries/challenges";
import { keepCsr } from "../queries/csr";
import { noteKeyFault } from "../queries/faults";
import { ChallengeReports, Csr, KeyFault } from "../schema/host-keys";

const NOT_FOUND = "There is no such certificate request for this agent.";

/** The routes by which agents report keys that they make and keep. */
export const hostKeys = (deps: Deps) =>
  new Elysia({ prefix: "/agent/certificate-requests", tags: ["Issuance"] })
    .use(agent(deps, findHolder))
    .guard({ params: t.Object({ requestId: PathId }) })
    .post(
      "/:requestId/csr",
      async ({ agent, scope, params, body }) =>
        respond(
          await deps.sql.begin((tx) => keepCsr(tx, deps.stamps, scope, { agentId: agent.id, requestId: params.requestId, csrPem: body.csrPem })),
          NOT_FOUND,
        ),
      {
        body: Csr,
        response: { 204: Empty, 400: Message, 404: Message, 409: Message },
        detail: {
          operationId: "keepHostCsr",
          summary: "Send the signing request of a key that stays on its host",
          description:
            "Another request for the same key changes nothing. 409 once one for another key is kept, or where the certificate request waits for none.",
        },
      },
    )
    .post(
      "/:requestId/faults",
      async ({ agent, scope, params, body }) =>
        respond(await noteKeyFault(deps.sql, scope, { agentId: agent.id, requestId: params.requestId, ...body }), NOT_FOUND),
      {
        body: KeyFault,
        response: { 204: Empty, 400: Message, 404: Message },
        detail: { operationId: "reportHostKeyFault", summary: "Report why there is no key for a certificate request" },
      },
    )
    .post(
      "/:requestId/challenges",
      async ({ agent, scope, params, body }) =>
        respond(await noteChallenges(deps.sql, scope, { agentId: agent.id, requestId: params.requestId, ...body }), NOT_FOUND),
      {
        body: ChallengeReports,
        response: { 204: Empty, 400: Message, 404: Message },
        detail: {
          operationId: "reportHostChallenges",
          summary: "Report which challenges this host shows",
          description: "The CA is asked to look once all are shown that it has to look at. Challenges that are asked for no more are passed over.",
        },
      },
    );
