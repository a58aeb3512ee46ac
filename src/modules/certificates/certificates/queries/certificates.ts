import type { Stamps } from "#crypto/stamps";
import type { Fragment, Sql } from "#db/connect";
import type { Resource, Target } from "#db/outcome";
import { matchesVersion, whereVersion } from "#db/versions";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";
import { deploymentsOf } from "./deployments";
import { statusStamper } from "./stamps";

/** The columns that every answer shows, as a jsonb expression; `now` decides what has expired. */
export const certificateJson = (sql: Sql, now: Date) => sql`facts || jsonb_build_object(
  'id', id, 'organizationId', organization_id, 'commonName', common_name, 'subject', subject, 'issuer', issuer,
  'fingerprintSha256', fingerprint_sha256, 'isCa', is_ca, 'selfSigned', self_signed,
  'notBefore', iso(not_before), 'notAfter', iso(not_after), 'status', ${statusOf(sql, now)},
  'revokedAt', iso(revoked_at), 'revocationReason', revocation_reason, 'retiredAt', iso(retired_at),
  'issuerCertificateId', issuer_id, 'hasPrivateKey', sealed_private_key is not null, ${annotations(sql)},
  'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))`;

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
  const [row] = await sql<Resource[]>`
    select (${certificateJson(sql, now)} || jsonb_build_object('pem', pem))::text as json, version
    from certificates where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

/** A reader: a user, who must be a member of the organization, or an API token, which must be of the organization. */
type Reader = { userId: string } | { organizationId: string };

const mayRead = (sql: Sql, organizationId: string, reader: Reader) =>
  "userId" in reader
    ? sql`exists (select from members m where m.organization_id = ${organizationId} and m.user_id = ${reader.userId} and m.status = 'active')`
    : sql`${organizationId}::uuid = ${reader.organizationId}`;

/**
 * A certificate with its chain and deployments, for who may read it; undefined for anybody else. The deployments of a
 * root may be a whole fleet's: as json they take half the time of jsonb.
 */
export async function findDetailsForMember(sql: Sql, organizationId: string, id: string, reader: Reader, now: Date) {
  const at = now.toISOString();
  // Ids of the row, not of the request: some certificates are on three hosts and some on all, so Postgres would plan every call
  // for its own.
  const held = { organizationId: sql`chain.organization_id`, certificateId: sql`chain.id`, limit: sql`1000` };
  const [row] = await sql<{ certificate: string; deployed: string }[]>`
    with recursive chain as (
      select c.*, 0 as depth from certificates c
      where c.organization_id = ${organizationId} and c.id = ${id}
        and ${mayRead(sql, organizationId, reader)}
      union all
      select issuer.*, depth + 1 from chain join certificates issuer
        on issuer.organization_id = chain.organization_id and issuer.id = chain.issuer_id where depth < 10)
    select (${certificateJson(sql, now)} || jsonb_build_object('pem', pem,
      'daysRemaining', greatest(0, floor(extract(epoch from not_after - ${at}::timestamptz) / 86400)::int),
      'chain', (
        select coalesce(jsonb_agg(jsonb_build_object('id', id, 'commonName', common_name, 'subject', subject, 'fingerprintSha256', fingerprint_sha256,
          'notAfter', iso(not_after), 'isCa', is_ca, 'selfSigned', self_signed, 'status', ${statusOf(sql, now)}, 'pem', pem) order by depth), '[]')
        from chain where depth > 0)))::text as certificate, ', "deploymentCount": ' || (
        select count(*) from assignments a where a.organization_id = chain.organization_id and a.certificate_id = chain.id) || ', "deployments": ' || (
        select coalesce(json_agg(deployment order by id), '[]')::text from (${deploymentsOf(sql, held)}) as first)
        || '}' as deployed
    from chain where depth = 0`;
  return row && row.certificate.slice(0, -1) + row.deployed;
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
  const [row] = await sql<{ version: number; changed: string | null; newVersion: number | null }[]>`
    with changed as (
      update certificates set ${set}, version = version + 1, updated_at = now()
      where organization_id = ${organizationId} and id = ${id} and ${of} and ${whereVersion(sql, versions)} returning *),
    ${event ? sql`recorded as (${event(sql`changed`)}),` : sql``}
    audited as (${audit(sql, scope, action, sql`select id, ${details} from changed`)})
    select version, (select (${certificateJson(sql, now)} || jsonb_build_object('pem', pem))::text from changed) as changed, (select version from changed) as "newVersion"
    from certificates where organization_id = ${organizationId} and id = ${id}`;
  if (!row) return "not found";
  if (row.changed !== null && row.newVersion !== null) return { json: row.changed, version: row.newVersion };
  return matchesVersion(versions, row.version) ? "conflict" : "stale";
}
