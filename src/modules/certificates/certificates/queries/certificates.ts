import type { Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import type { Target } from "#db/outcome";
import { matchesVersion, whereVersion } from "#db/versions";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";
import { statusStamper } from "./stamps";

/** Returns the columns of an answer, which `joinFacts` makes one JSON; `now` decides what has expired, `more` adds names and values. */
export const certificateJson = (sql: Sql, now: Date, more = sql``) => sql`facts::text as facts, json_build_object(
  'id', id, 'organizationId', organization_id, 'commonName', common_name, 'subject', subject, 'issuer', issuer,
  'fingerprintSha256', fingerprint_sha256, 'isCa', is_ca, 'selfSigned', self_signed,
  'notBefore', iso(not_before), 'notAfter', iso(not_after), 'status', ${statusOf(sql, now)},
  'revokedAt', iso(revoked_at), 'revocationReason', revocation_reason, 'retiredAt', iso(retired_at),
  'issuerCertificateId', issuer_id, 'hasPrivateKey', sealed_private_key is not null, ${annotations(sql)},
  'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at)${more})::text as json`;

/** SQL condition: the user is an active member of the organization. */
export const isMember = (sql: Sql, organizationId: Fragment, userId: Fragment) => sql`
  exists (select from members where members.organization_id = ${organizationId} and members.user_id = ${userId} and members.status = 'active')`;

/** Names and values of an answer that shows one certificate. */
export const withPem = (sql: Sql) => sql`, 'pem', pem`;

export type OfFacts = { facts: string; json: string };
/** Returns the JSON of both: Postgres takes half as long again to join them. */
export const joinFacts = ({ facts, json }: OfFacts) => `${facts.slice(0, -1)}, ${json.slice(1)}`;

/** Returns people's notes on a certificate, as names and values. */
export const annotations = (sql: Sql) => sql`'ownerId', owner_id, 'contacts', contacts, 'labels', labels, 'notes', notes`;

/** The status of a row of certificates at a moment: expiry is derived. */
export const statusOf = (sql: Sql, now: Date) => sql`case when status = 'active' and not_after <= ${now.toISOString()} then 'expired' else status::text end`;

/**
 * Lists up to 50 valid certificates, the soonest to expire first, as JSON of the whole answer. The limit is a plain number: for
 * a parameter the planner makes a new plan at each call.
 */
export async function listExpiring(sql: Sql, organizationId: string, limit: number, now: Date) {
  const at = now.toISOString();
  const [row] = await sql<{ answer: string }[]>`
    select '{"items":' || coalesce(json_agg(soonest)::text, '[]') || '}' as answer
    from (
      select id as "certificateId", common_name as "commonName", iso(not_after) as "expiresAt", extract(day from not_after - ${at}::timestamptz)::int as "daysRemaining"
      from (
        select id, common_name, not_after from certificates
        where organization_id = ${organizationId} and status = 'active' and not_after > ${at} and not_before <= ${at}
        order by not_after, id limit 50) fifty
      order by not_after, id limit ${limit}) soonest`;
  return row?.answer ?? "";
}

export async function findCertificate(sql: Sql, organizationId: string, id: string, now: Date) {
  const [row] = await sql<(OfFacts & { version: number })[]>`
    select ${certificateJson(sql, now, withPem(sql))}, version from certificates where organization_id = ${organizationId} and id = ${id}`;
  return row && { json: joinFacts(row), version: row.version };
}

/** A change of status: its audit action and details, the certificates that it is for, the columns that it sets, and its event. */
type StatusChange = { action: string; of: Fragment; set: Fragment; details?: Fragment; event?: (changed: Fragment) => Fragment };
/** Returns the stamp of a status. */
type StampOf = (status: string, isRevoked?: boolean) => Buffer | null;

/** A retired certificate stays retired: its key may be known to others all the same. `conflict` when it is revoked already. */
export const revokeCertificate = (sql: Sql, stamps: Stamps, scope: Scope, target: Target, reason: string, now: Date) =>
  changeStatus(sql, stamps, scope, target, now, (stampOf) => ({
    action: "certificate.revoked",
    of: sql`revoked_at is null`,
    set: sql`status = case status when 'active' then 'revoked' else status end, revoked_at = ${now.toISOString()}, revocation_reason = ${reason},
      status_stamp = case status when 'active' then ${stampOf("revoked")}::bytea else ${stampOf("retired", true)}::bytea end`,
    details: sql`jsonb_build_object('reason', revocation_reason)`,
    event: (changed) =>
      recordEvents(
        sql,
        "certificate_revoked",
        sql`select organization_id, id, jsonb_build_object('commonName', common_name, 'reason', revocation_reason), owner_id, null::member_role from ${changed}`,
      ),
  }));

/** `conflict` when it is retired already. */
export const retireCertificate = (sql: Sql, stamps: Stamps, scope: Scope, target: Target, now: Date) =>
  changeStatus(sql, stamps, scope, target, now, (stampOf) => ({
    action: "certificate.retired",
    of: sql`status <> 'retired'`,
    set: sql`status = 'retired', status_stamp = case when revoked_at is null then ${stampOf("retired")}::bytea else ${stampOf("retired", true)}::bytea end, retired_at = ${now.toISOString()}`,
  }));

/** Ends a certificateHold, a retired certificate's too; `conflict` when the certificate is not on hold. */
export const reinstateCertificate = (sql: Sql, stamps: Stamps, scope: Scope, target: Target, now: Date) =>
  changeStatus(sql, stamps, scope, target, now, (stampOf) => ({
    action: "certificate.reinstated",
    of: sql`revocation_reason = 'certificateHold'`,
    set: sql`status = case status when 'revoked' then 'active' else status end, revoked_at = null, revocation_reason = null,
      status_stamp = case status when 'revoked' then ${stampOf("active")}::bytea else ${stampOf("retired")}::bytea end`,
  }));

async function changeStatus(sql: Sql, stamps: Stamps, scope: Scope, target: Target, now: Date, changeOf: (stampOf: StampOf) => StatusChange) {
  const { organizationId } = scope;
  const { id, versions } = target;
  const { action, of, set, details = sql`'{}'::jsonb`, event } = changeOf(await statusStamper(sql, stamps, organizationId, target));
  const [row] = await sql<(OfFacts & { version: number; newVersion: number | null })[]>`
    with changed as (
      update certificates set ${set}, version = version + 1, updated_at = now()
      where organization_id = ${organizationId} and id = ${id} and ${of} and ${whereVersion(sql, versions)} returning *),
    ${event ? sql`recorded as (${event(sql`changed`)}),` : sql``}
    audited as (${audit(sql, scope, action, sql`select id, ${details} from changed`)})
    select old.version, changed.version as "newVersion", shown.* from certificates old
    left join changed on true left join lateral (select ${certificateJson(sql, now, withPem(sql))} from changed) as shown on true
    where old.organization_id = ${organizationId} and old.id = ${id}`;
  if (!row) return "not found";
  if (row.newVersion !== null) return { json: joinFacts(row), version: row.newVersion };
  return matchesVersion(versions, row.version) ? "conflict" : "stale";
}
