import type { Sql } from "#db/connect";
import { recordEnds, recordEvents } from "#modules/notifications/events/queries/record";

/** A renewal whose successor is to come to the hosts. */
export type Issued = {
  organizationId: string;
  certificateId: string;
  successorId: string;
  notBefore: string;
  notAfter: string;
  isActive: boolean;
  /** The moments at which the successor was issued, and the certificate is to be retired. */
  issuedAt: string;
  retireAt: string | null;
  /** A rotation brings a successor, perhaps one that was started before a crash. */
  isRotated: boolean;
  /** Assignments have the certificate still. */
  isLeft: boolean;
  /** Every assignment that has the successor was seen with it. */
  isObserved: boolean;
};

/** Takes renewals that were issued; a killed server lets them go after two minutes. */
export const claimIssued = (sql: Sql, count: number, now: Date) => sql<Issued[]>`
  with due as (
    select organization_id, certificate_id from renewals where state = 'issued' and look_at <= ${now.toISOString()} order by look_at limit ${count} for update skip locked),
  claimed as (
    update renewals w set look_at = ${now.toISOString()}::timestamptz + interval '2 minutes' from due
    where w.organization_id = due.organization_id and w.certificate_id = due.certificate_id returning w.*)
  select w.organization_id as "organizationId", w.certificate_id as "certificateId", w.successor_id as "successorId", iso(c.not_before) as "notBefore", iso(c.not_after) as "notAfter",
    c.status = 'active' as "isActive", iso(s.created_at) as "issuedAt", iso(w.retire_at) as "retireAt",
    exists (
      select from rollouts r where r.organization_id = w.organization_id and r.predecessor_id = w.certificate_id and r.status in ('running', 'halted', 'completed')) as "isRotated",
    exists (select from assignments a where a.organization_id = w.organization_id and a.certificate_id = w.certificate_id) as "isLeft",
    not exists (
      select from assignments a where a.organization_id = w.organization_id and a.certificate_id = w.successor_id and a.enabled
        and (a.reported_state in ('installed', 'drifted') and a.reported_fingerprint = s.fingerprint_sha256) is not true) as "isObserved"
  from claimed w cross join lateral (select * from certificates where organization_id = w.organization_id and id = w.certificate_id offset 0) as c
    cross join lateral (select * from certificates where organization_id = w.organization_id and id = w.successor_id offset 0) as s`;

/** Notes when the certificate is to be retired, if it is known, and its next review. */
export async function saveWaiting(sql: Sql, { organizationId, certificateId }: Issued, retireAt: Date | null, reviewAt: Date) {
  await sql`
    update renewals set retire_at = ${retireAt?.toISOString() ?? null}, look_at = ${reviewAt.toISOString()}
    where organization_id = ${organizationId} and certificate_id = ${certificateId} and state = 'issued'`;
}

/** Ends a renewal: its rotation does the rest. */
export async function saveRotated(sql: Sql, { organizationId, certificateId }: Issued) {
  await sql`
    with changed as (
      update renewals set state = 'renewed', look_at = null, retire_at = null, failure = null, updated_at = now()
      where organization_id = ${organizationId} and certificate_id = ${certificateId} and state = 'issued' returning organization_id, certificate_id)
    ${recordEnds(sql, "certificate_renewal_failed", sql`select organization_id, certificate_id from changed`)}`;
}

/** Saves why the rotation could not start, with its event. */
export async function saveUnrotated(sql: Sql, { organizationId, certificateId }: Issued, failure: string, reviewAt: Date) {
  await sql`
    with changed as (
      update renewals set failure = ${failure}, look_at = ${reviewAt.toISOString()}, updated_at = now()
      where organization_id = ${organizationId} and certificate_id = ${certificateId} and state = 'issued' returning organization_id, certificate_id)
    ${recordEvents(
      sql,
      "certificate_renewal_failed",
      sql`
        select c.organization_id, c.id, jsonb_build_object('commonName', c.common_name, 'notAfter', iso(c.not_after), 'reason', ${failure}::text), c.owner_id, null::member_role
        from changed join certificates c on c.organization_id = changed.organization_id and c.id = changed.certificate_id`,
    )}`;
}
