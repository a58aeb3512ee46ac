import { arrayOf, type Fragment, type Sql } from "#db/connect";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { Room } from "#modules/platform/jobs/rules";

/** A revocation that the issuer's CA is to make too. */
export type Due = {
  organizationId: string;
  id: string;
  issuerId: string;
  reason: string;
  pem: string;
  isExpired: boolean;
  attempts: number;
  failingSince: string | null;
};

/** Takes revocations that are due at the issuer with room that has waited longest; a killed server lets them go after two minutes. */
export const claimDue = (sql: Sql, { fullOrganizations, fullTargets }: Room, count: number, now: Date) => sql<Due[]>`
  with first as (
    select organization_id, issuer_id from ca_revocations
    where due_at <= ${now.toISOString()} and organization_id <> all(${arrayOf(fullOrganizations)}::uuid[]) and issuer_id <> all(${arrayOf(fullTargets)}::uuid[])
    order by due_at limit 1),
  due as (
    select r.organization_id, r.id from ca_revocations r join first using (organization_id, issuer_id)
    where due_at <= ${now.toISOString()} order by due_at limit ${count} for update of r skip locked),
  claimed as (
    update ca_revocations r set due_at = ${now.toISOString()}::timestamptz + interval '2 minutes' from due
    where r.organization_id = due.organization_id and r.id = due.id returning r.*)
  select r.organization_id as "organizationId", r.id, issuer_id as "issuerId", reason, pem, not_after <= ${now.toISOString()} as "isExpired", attempts,
    iso(failing_since) as "failingSince"
  from claimed r cross join lateral (select pem, not_after from certificates where organization_id = r.organization_id and id = r.certificate_id offset 0) as c
  order by r.created_at`;

/** Lets revocations go, for another server. */
export const releaseDue = (sql: Sql, due: Due[], now: Date) => sql`
  update ca_revocations set due_at = ${now.toISOString()} where id = any(${arrayOf(due.map(({ id }) => id))}::uuid[]) and due_at is not null`;

const scopeOf = ({ organizationId }: Due): Scope => ({ organizationId, actor: { type: "server" }, requestId: null });
const isOpen = (sql: Sql, { organizationId, id }: Due) => sql`organization_id = ${organizationId} and id = ${id} and due_at is not null`;

/** Notes that the CA has revoked the certificate. */
export const saveRevoked = (sql: Sql, due: Due, now: Date) =>
  end(sql, due, "certificate.revoked-at-ca", sql`state = 'told', told_at = ${now.toISOString()}, failure = null`);

/** Notes that the certificate has expired before the CA revoked it. */
export const saveExpired = (sql: Sql, due: Due) => end(sql, due, "certificate.expired-before-revocation", sql`state = 'expired'`);

async function end(sql: Sql, due: Due, action: string, changes: Fragment) {
  await sql`
    with ended as (
      update ca_revocations set ${changes}, due_at = null, attempts = 0, failing_since = null, updated_at = now() where ${isOpen(sql, due)} returning *),
    audited as (${audit(sql, scopeOf(due), action, sql`select certificate_id, jsonb_build_object('issuerId', issuer_id, 'reason', reason) from ended`)})
    ${recordEnds(sql, "certificate_revocation_failed", sql`select organization_id, certificate_id from ended`)}`;
}

type Failed = { failure: string; dueAt: Date; isEvent: boolean };

/** Notes why the CA has not revoked the certificate, and when it is asked again; with an audit event where the reason is another. */
export async function saveFailed(sql: Sql, due: Due, { failure, dueAt, isEvent }: Failed, now: Date) {
  const event = sql`
    select c.organization_id, c.id, jsonb_build_object('commonName', c.common_name, 'reason', failed.failure), c.owner_id, null::member_role
    from failed join certificates c on c.organization_id = failed.organization_id and c.id = failed.certificate_id where ${isEvent}`;
  await sql`
    with before as (select organization_id, id, failure is distinct from ${failure}::text as is_news from ca_revocations where ${isOpen(sql, due)} for update),
    failed as (
      update ca_revocations r set state = 'failing', failure = ${failure}, attempts = attempts + 1, failing_since = coalesce(failing_since, ${now.toISOString()}),
        due_at = ${dueAt.toISOString()}, updated_at = now()
      from before where r.organization_id = before.organization_id and r.id = before.id returning r.*, is_news),
    audited as (${audit(sql, scopeOf(due), "certificate.revocation-failed", sql`select certificate_id, jsonb_build_object('issuerId', issuer_id, 'failure', failure) from failed where is_news`)})
    ${recordEvents(sql, "certificate_revocation_failed", event)}`;
}
