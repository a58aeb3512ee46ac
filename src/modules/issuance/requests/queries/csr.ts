import type { Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { lockIssuer } from "#modules/issuance/issuers/queries/due";
import type { Name } from "#modules/issuance/issuing/rules/driver";
import { audit, type Scope } from "#modules/people/audit/queries";
import { keyIn, readCsr } from "../rules/csr";
import { isRequestProven, type RequestProof, requestProofJson, stampRequest } from "./asked-keys";
import { begin } from "./requests";

type Waiting = { issuerId: string; names: Name[]; keyAlgorithm: string; csr: Uint8Array | null; mayBegin: boolean; proof: RequestProof };
type AgentCsr = { agentId: string; requestId: string; csrPem: string };

/**
 * Saves the CSR that an agent made with the key of a request, and has the request begin. `conflict` where there is one for another key, or
 * the request waits for none.
 */
export async function keepCsr(
  tx: Sql,
  stamps: Stamps,
  scope: Scope,
  { agentId, requestId, csrPem }: AgentCsr,
): Promise<"done" | "not found" | "conflict" | { invalid: string }> {
  const isIt = tx`organization_id = ${scope.organizationId} and id = ${requestId}`;
  const [found] = await tx<{ issuerId: string }[]>`select issuer_id as "issuerId" from certificate_requests where ${isIt} and agent_id = ${agentId}`;
  if (!found) return "not found";
  await lockIssuer(tx, scope.organizationId, found.issuerId);
  const [waiting] = await tx<Waiting[]>`
    select issuer_id as "issuerId", names, key_algorithm as "keyAlgorithm", csr, ended_at is null and approval in ('none', 'given') as "mayBegin", ${requestProofJson(tx)} as proof
    from certificate_requests r where ${isIt} for update`;
  if (!waiting) return "not found";
  const csr = readCsr(csrPem, waiting.names);
  if ("fault" in csr) return { invalid: `body.csrPem ${csr.fault}.` };
  if (csr.algorithm !== waiting.keyAlgorithm) return { invalid: `body.csrPem has a key of ${csr.algorithm}, where ${waiting.keyAlgorithm} is asked for.` };
  if (waiting.csr) return Buffer.compare(keyIn(waiting.csr), csr.publicKeyInfo) === 0 ? "done" : "conflict";
  if (!waiting.mayBegin || !isRequestProven(stamps, waiting.proof)) return "conflict";
  await tx`
    with kept as (update certificate_requests set csr = ${csr.der}::bytea, version = version + 1 where ${isIt} returning id)
    ${audit(tx, scope, "certificate-request.key-made", tx`select id, jsonb_build_object('agentId', ${agentId}::text) from kept`)}`;
  await stampRequest(tx, stamps, scope.organizationId, requestId);
  await begin(tx, isIt, "The agent has made the key.");
  return "done";
}
