import type { Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { lockIssuer, wakeIssuer } from "#modules/issuance/issuers/queries/due";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { ChallengeReport } from "../schema/host-keys";
import { type Challenge, challengeFacts } from "./challenge-facts";

type Token = Pick<Challenge, "organizationId" | "requestId" | "token">;

/** Has the agent of a request answer a challenge; the same once more changes nothing. */
export async function keepChallenge(sql: Sql, stamps: Stamps, challenge: Challenge) {
  const { organizationId, requestId, name, token, thumbprint } = challenge;
  await sql`
    insert into host_challenges as c (organization_id, id, request_id, name, token, thumbprint, stamp)
    values (${organizationId}, ${Bun.randomUUIDv7()}, ${requestId}, ${name}, ${token}, ${thumbprint}, ${stamps.of(challengeFacts(challenge))}::bytea)
    on conflict (organization_id, request_id, token) do update set name = excluded.name, thumbprint = excluded.thumbprint, stamp = excluded.stamp, shown_at = null
      where (c.name, c.thumbprint, c.stamp) is distinct from (excluded.name, excluded.thumbprint, excluded.stamp)`;
}

/** Has the agent show it no more. */
export async function forgetChallenge(sql: Sql, { organizationId, requestId, token }: Token) {
  await sql`delete from host_challenges where organization_id = ${organizationId} and request_id = ${requestId} and token = ${token}`;
}

/** Returns how a challenge stands, in the agent's words where it fails; undefined where the request has no agent any more. */
export async function findChallenge(sql: Sql, { organizationId, requestId, token }: Token) {
  const [row] = await sql<{ isShown: boolean; fault: string | null }[]>`
    select c.shown_at is not null as "isShown", c.fault from certificate_requests r
    join agents a on a.organization_id = r.organization_id and a.id = r.agent_id
    left join host_challenges c on c.organization_id = r.organization_id and c.request_id = r.id and c.token = ${token}
    where r.organization_id = ${organizationId} and r.id = ${requestId}`;
  return row;
}

const WORDS = { shown: null, failed: "The agent cannot show it:", refused: "The host does not permit it:" };
type Reported = { agentId: string; requestId: string; challenges: ChallengeReport[] };

/**
 * Notes what the agent of an open request shows, and what it does not, and has the request go on at once. The same once more
 * changes nothing; what is asked for no more is passed over.
 */
export const noteChallenges = (pool: Pool, scope: Scope, { agentId, requestId, challenges }: Reported): Promise<"done" | "not found"> =>
  pool.begin(async (tx) => {
    const { organizationId } = scope;
    const isIt = tx`organization_id = ${organizationId} and id = ${requestId} and agent_id = ${agentId} and ended_at is null`;
    const [found] = await tx<{ issuerId: string }[]>`select issuer_id as "issuerId" from certificate_requests where ${isIt}`;
    if (!found) return "not found";
    await lockIssuer(tx, organizationId, found.issuerId);
    const given = challenges.map(({ id, state, message }) => ({ id, state, fault: WORDS[state] && `${WORDS[state]} ${message ?? "It does not say why."}` }));
    await tx`
      with request as (select organization_id, issuer_id, id from certificate_requests where ${isIt} for update),
      noted as (
        update host_challenges c set shown_at = case when given.state = 'shown' then now() end, fault = given.fault
        from request, jsonb_to_recordset(${JSON.stringify(given)}::jsonb) as given (id uuid, state text, fault text)
        where c.organization_id = request.organization_id and c.request_id = request.id and c.id = given.id
          and (c.shown_at is not null, c.fault) is distinct from (given.state = 'shown', given.fault)
        returning c.request_id, c.name, given.state, given.fault),
      due as (
        update certificate_requests r set due_at = now() from request
        where r.organization_id = request.organization_id and r.id = request.id and r.claimed_until is null and r.due_at is not null and exists (select from noted)
        returning r.organization_id, r.issuer_id, r.due_at),
      woken as (${wakeIssuer(tx, tx`select organization_id, issuer_id, due_at from due`)})
      ${audit(
        tx,
        scope,
        "certificate-request.challenges-reported",
        tx`
          select request_id, jsonb_build_object('agentId', ${agentId}::text, 'challenges', jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', name, 'state', state, 'reason', fault)) order by name))
          from noted group by request_id`,
      )}`;
    return "done";
  });
