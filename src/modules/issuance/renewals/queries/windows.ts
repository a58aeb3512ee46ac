import { arrayOf, type Sql } from "#db/connect";
import type { RenewalWindow } from "#modules/issuance/issuing/rules/driver";
import type { Room } from "#modules/platform/jobs/rules";

/** A certificate whose CA is to be asked when it wants it renewed. */
export type AskedCertificate = { organizationId: string; certificateId: string; issuerId: string; pem: string };

/** Takes certificates of the issuer with room that was not asked for the longest time; a killed server lets them go after five minutes. */
export const claimWindows = (sql: Sql, { fullOrganizations, fullTargets }: Room, count: number, now: Date) => sql<AskedCertificate[]>`
  with first as (
    select organization_id, issuer_id from renewals
    where ask_window_at <= ${now.toISOString()} and organization_id <> all(${arrayOf(fullOrganizations)}::uuid[]) and issuer_id <> all(${arrayOf(fullTargets)}::uuid[])
    order by ask_window_at limit 1),
  due as (
    select w.organization_id, certificate_id from renewals w join first using (organization_id, issuer_id)
    where ask_window_at <= ${now.toISOString()} order by ask_window_at limit ${count} for update of w skip locked),
  claimed as (
    update renewals w set ask_window_at = ${now.toISOString()}::timestamptz + interval '5 minutes' from due
    where w.organization_id = due.organization_id and w.certificate_id = due.certificate_id returning w.*)
  select w.organization_id as "organizationId", w.certificate_id as "certificateId", w.issuer_id as "issuerId", c.pem
  from claimed w cross join lateral (select pem from certificates where organization_id = w.organization_id and id = w.certificate_id offset 0) as c`;

/** Notes when the CA is asked again; null: never. */
export async function saveAsked(sql: Sql, { organizationId, certificateId }: AskedCertificate, askAgainAt: Date | null) {
  await sql`
    update renewals set ask_window_at = ${askAgainAt?.toISOString() ?? null}
    where organization_id = ${organizationId} and certificate_id = ${certificateId} and state in ('scheduled', 'failed')`;
}

/** Keeps what the CA said. Another window than before has the job plan the renewal once more. */
export async function saveWindow(sql: Sql, { organizationId, certificateId }: AskedCertificate, { start, end, explanationUrl, askAgainAt }: RenewalWindow) {
  const [from, until] = [start.toISOString(), end.toISOString()];
  await sql`
    update renewals set ask_window_at = ${askAgainAt.toISOString()}, window_start = ${from}, window_end = ${until}, explanation_url = ${explanationUrl ?? null},
      is_planned = is_planned and (window_start, window_end) is not distinct from (${from}::timestamptz(3), ${until}::timestamptz(3)),
      look_at = case when (window_start, window_end) is distinct from (${from}::timestamptz(3), ${until}::timestamptz(3)) then now() else look_at end
    where organization_id = ${organizationId} and certificate_id = ${certificateId} and state in ('scheduled', 'failed')`;
}
