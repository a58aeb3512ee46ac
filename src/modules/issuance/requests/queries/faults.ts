import type { Sql } from "#db/connect";
import { addSteps } from "#modules/issuance/issuing/queries";
import { audit, type Scope } from "#modules/people/audit/queries";

type Fault = { agentId: string; requestId: string; state: "failed" | "refused"; message: string };

const WORDS = { failed: "The agent has no key for it:", refused: "The host does not permit the key:" };

/** Notes why the agent of an open request has no key for it; the same once more changes nothing. */
export async function noteKeyFault(sql: Sql, scope: Scope, { agentId, requestId, state, message }: Fault): Promise<"done" | "not found"> {
  const reason = `${WORDS[state]} ${message}`;
  const [row] = await sql<object[]>`
    with request as (
      select id, reason from certificate_requests
      where organization_id = ${scope.organizationId} and id = ${requestId} and agent_id = ${agentId} and ended_at is null for update),
    noted as (
      update certificate_requests r set reason = ${reason}, version = r.version + 1, updated_at = now() from request
      where r.organization_id = ${scope.organizationId} and r.id = request.id and request.reason is distinct from ${reason} returning r.*),
    stepped as (${addSteps(sql, sql`select organization_id, id, status, reason from noted`)}),
    audited as (${audit(sql, scope, "certificate-request.key-failed", sql`select id, jsonb_build_object('agentId', ${agentId}::text, 'reason', reason) from noted`)})
    select from request`;
  return row ? "done" : "not found";
}
