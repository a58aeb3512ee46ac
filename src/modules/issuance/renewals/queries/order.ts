import { inJson, type Stamps } from "#crypto/stamps";
import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { wakeIssuer } from "#modules/issuance/issuers/queries/due";
import { addSteps } from "#modules/issuance/issuing/queries";
import { isRequestProven, type RequestProof, requestFacts, requestFactsJson, requestProofJson } from "#modules/issuance/requests/queries/asked-keys";
import { firstDue, firstReason } from "#modules/issuance/requests/queries/requests";
import { auditMany, type Scope } from "#modules/people/audit/queries";

/** SQL condition: what a renewal would follow was issued, or waits for no approval; and no person cancelled or refused it. */
export const mayFollow = (sql: Sql, template: Fragment) => sql`(${template}.approval in ('none', 'given') and ${template}.status <> 'cancelled')`;

/**
 * Requests successors of certificates, whose locks it needs, as they were requested before, and returns those. An open request
 * for the same names is in the way.
 */
export async function requestSuccessors(tx: Sql, stamps: Stamps, scope: Scope, issuerId: string, certificateIds: string[]) {
  const details = tx`jsonb_build_object('issuerId', issuer_id, 'names', names, 'keyLocation', key_location, 'replaces', replaces, 'approval', approval)`;
  const rows = await tx<{ replaces: string }[]>`
    with created as (
      insert into certificate_requests (organization_id, id, issuer_id, names, names_hash, key_algorithm, key_location, csr, agent_id, deployment, profile, auto_renew,
        replaces, approval, approved_by, reason, due_at, created_by, search)
      select organization_id, new_id(), ${issuerId}, names, names_hash, key_algorithm, key_location, csr, agent_id, deployment, profile, true,
        replaces, approval, approved_by, ${firstReason(tx)}, ${firstDue(tx)}, ${JSON.stringify(scope.actor)}::text::jsonb, search
      from (
        select w.certificate_id as replaces, t.approval, t.approved_by, t.organization_id, t.names, t.names_hash, t.key_algorithm, t.key_location,
          case when t.key_location = 'csr' then t.csr end as csr, t.agent_id, t.deployment, t.profile, t.search
        from renewals w cross join lateral (select * from certificate_requests where organization_id = w.organization_id and id = w.template_id offset 0) as t
        where w.organization_id = ${scope.organizationId} and w.certificate_id = any(${arrayOf(certificateIds)}::uuid[]) and ${mayFollow(tx, tx`t`)}) as template
      on conflict do nothing returning *),
    stepped as (${addSteps(tx, tx`select organization_id, id, status, reason from created`)}),
    woken as (${wakeIssuer(tx, tx`select distinct organization_id, issuer_id, due_at from created`)}),
    audited as (${auditMany(tx, scope, "certificate-request.created", tx`select id, ${details} from created`)}),
    taken as (
      update renewals w set request_id = created.id, updated_at = now() from created
      where w.organization_id = created.organization_id and w.certificate_id = created.replaces)
    select replaces from created`;
  const ordered = rows.map(({ replaces }) => replaces);
  await stampSuccessors(tx, stamps, scope.organizationId, ordered);
  return new Set(ordered);
}

type Copied = { id: string; facts: Record<string, unknown>; template: RequestProof };

/** Stamps the requests that were made for these certificates, where the requests that they follow are stamped, as such that may begin. */
async function stampSuccessors(tx: Sql, stamps: Stamps, organizationId: string, certificateIds: string[]) {
  const copied = await tx<Copied[]>`
    select r.id, ${requestFactsJson(tx)} as facts, ${requestProofJson(tx, tx`t`)} as template from renewals w
    join certificate_requests r on r.organization_id = w.organization_id and r.id = w.request_id
    join certificate_requests t on t.organization_id = w.organization_id and t.id = w.template_id
    where w.organization_id = ${organizationId} and w.certificate_id = any(${arrayOf(certificateIds)}::uuid[])`;
  const rows = copied
    .filter(({ template }) => template.facts.mayBegin === true && isRequestProven(stamps, template))
    .map(({ id, facts }) => ({ id, stamp: inJson(stamps.of(requestFacts(facts))) }));
  await tx`
    update certificate_requests r set stamp = given.stamp from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as given (id uuid, stamp bytea)
    where r.organization_id = ${organizationId} and r.id = given.id`;
}
