import type { Stamp, Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { Resource } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { noteChange } from "#modules/issuance/issuing/queries";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { NameConstraints } from "../rules/names";
import type { Profile } from "../rules/profiles";
import { type InIso, withDates } from "./dates";
import { authorityFactsJson, pemOf, stampAuthority } from "./stamps";

/** SQL condition: its certificate, or one above it, is revoked. */
const isRevoked = (sql: Sql) => sql`exists (
  with recursive chain as (
    select organization_id, issuer_id, revoked_at, 0 as depth from certificates
    where certificates.organization_id = authority.organization_id and certificates.id = authority.certificate_id
    union all
    select above.organization_id, above.issuer_id, above.revoked_at, depth + 1 from chain
    join certificates as above on above.organization_id = chain.organization_id and above.id = chain.issuer_id where depth < 10)
  select from chain where revoked_at is not null)`;

/** The JSON of every answer, from a row called `authority`. */
const authorityJson = (sql: Sql, now: Date) => sql`json_build_object('id', id, 'organizationId', organization_id, 'name', name, 'kind', kind,
  'status', case when status = 'pending' then 'pending' when not_after <= ${now.toISOString()} then 'expired' when ${isRevoked(sql)} then 'revoked'
    when not enabled then 'disabled' else 'active' end,
  'parentId', parent_id, 'subject', subject, 'keyAlgorithm', key_algorithm, 'certificateId', certificate_id, 'certificatePem', ${pemOf(sql)}, 'chainPem', chain_pem,
  'requestPem', request_pem, 'pathLength', path_length, 'nameConstraints', constraints, 'notBefore', iso(not_before), 'notAfter', iso(not_after),
  'profiles', profiles, 'publicUrl', public_url, 'certificateUrl', public_url || '/pki/' || id || '/ca.crt', 'crlUrl', public_url || '/pki/' || id || '/crl',
  'ocspUrl', public_url || '/pki/' || id || '/ocsp', 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

/** Newest first; one more than `limit`. */
export async function listAuthorities(sql: Sql, organizationId: string, { limit, before }: PageBefore, now: Date) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${authorityJson(sql, now)} as json from authorities as authority
    where organization_id = ${organizationId} and id < ${before ?? MAX_UUID} order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

export async function findAuthority(sql: Sql, organizationId: string, id: string, now: Date) {
  const [row] = await sql<Resource[]>`
    select ${authorityJson(sql, now)} as json, version from authorities as authority where organization_id = ${organizationId} and id = ${id}`;
  return row;
}

export type StoredAuthority = {
  organizationId: string;
  id: string;
  name: string;
  kind: "root" | "issuing";
  status: "pending" | "active";
  enabled: boolean;
  publicKey: string;
  sealedPrivateKey: Uint8Array;
  requestPem: string | null;
  certificateId: string | null;
  pem: string | null;
  chainPem: string;
  pathLength: number | null;
  constraints: NameConstraints[];
  notBefore: Date | null;
  notAfter: Date | null;
  profiles: Profile[];
  publicUrl: string;
  isRevoked: boolean;
  facts: Record<string, unknown>;
  stamp: Stamp;
  version: number;
};

/**
 * Returns the stored row, with parts that no answer shows. `hold` keeps others from deleting (`share`) or changing it
 * (`update`) until the transaction ends.
 */
export async function findStored(sql: Sql, organizationId: string, id: string, hold?: "share" | "update"): Promise<StoredAuthority | undefined> {
  const [row] = await sql<InIso<StoredAuthority>[]>`
    select organization_id as "organizationId", id, name, kind, status, enabled, public_key as "publicKey", sealed_private_key as "sealedPrivateKey",
      request_pem as "requestPem", certificate_id as "certificateId", ${pemOf(sql)} as pem, chain_pem as "chainPem", path_length as "pathLength", constraints,
      iso(not_before) as "notBefore", iso(not_after) as "notAfter", profiles, public_url as "publicUrl", ${isRevoked(sql)} as "isRevoked",
      ${authorityFactsJson(sql)} as facts, stamp, version
    from authorities as authority where organization_id = ${organizationId} and id = ${id}
    ${hold === "update" ? sql`for update` : hold === "share" ? sql`for share` : sql``}`;
  return row && withDates<StoredAuthority>(row, ["notBefore", "notAfter"]);
}

type Derived = "organizationId" | "status" | "enabled" | "pem" | "isRevoked" | "facts" | "stamp" | "version";

/** A new authority, of which the statement finds the rest. */
export type AuthorityRow = Omit<StoredAuthority, Derived | "sealedPrivateKey"> & {
  sealedPrivateKey: Buffer;
  parentId: string | null;
  keyAlgorithm: string;
  subject: string;
};

/** Adds an authority; with a certificate it is active, and publishes from now on. */
export async function insertAuthority(sql: Sql, stamps: Stamps, scope: Scope, row: AuthorityRow, now: Date) {
  const { organizationId } = scope;
  const status = row.certificateId === null ? "pending" : "active";
  const details = sql`jsonb_build_object('name', name, 'kind', kind, 'keyAlgorithm', key_algorithm, 'subject', subject, 'certificateId', certificate_id, 'parentId', parent_id)`;
  const [created] = await sql<Resource[]>`
    with authority as (
      insert into authorities (organization_id, id, name, kind, status, parent_id, key_algorithm, public_key, sealed_private_key, request_pem, certificate_id,
        chain_pem, subject, path_length, constraints, not_before, not_after, profiles, public_url)
      values (${organizationId}, ${row.id}, ${row.name}, ${row.kind}, ${status}, ${row.parentId}, ${row.keyAlgorithm}, ${row.publicKey}, ${row.sealedPrivateKey},
        ${row.requestPem}, ${row.certificateId}, ${row.chainPem}, ${row.subject}, ${row.pathLength}, ${JSON.stringify(row.constraints)}::jsonb,
        ${row.notBefore?.toISOString() ?? null}, ${row.notAfter?.toISOString() ?? null}, ${JSON.stringify(row.profiles)}::jsonb, ${row.publicUrl})
      returning *),
    published as (
      insert into authority_publications (organization_id, authority_id) select organization_id, id from authority where status = 'active'),
    audited as (${audit(sql, scope, "authority.created", sql`select id, ${details} from authority`)})
    select ${authorityJson(sql, now)} as json, version from authority`;
  if (!created) throw new Error("an authority was not created");
  await stampAuthority(sql, stamps, organizationId, row.id);
  return { ...created, id: row.id };
}

export type Activation = Pick<AuthorityRow, "certificateId" | "chainPem" | "subject" | "pathLength" | "constraints" | "notBefore" | "notAfter" | "parentId">;

/** Makes a pending authority active by its certificate. */
export async function activateAuthority(sql: Sql, stamps: Stamps, scope: Scope, id: string, row: Activation, now: Date) {
  const [activated] = await sql<Resource[]>`
    with authority as (
      update authorities set status = 'active', request_pem = null, certificate_id = ${row.certificateId}, chain_pem = ${row.chainPem}, subject = ${row.subject},
        path_length = ${row.pathLength}, constraints = ${JSON.stringify(row.constraints)}::jsonb, not_before = ${row.notBefore?.toISOString() ?? null},
        not_after = ${row.notAfter?.toISOString() ?? null}, parent_id = ${row.parentId}, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} and status = 'pending' returning *),
    published as (insert into authority_publications (organization_id, authority_id) select organization_id, id from authority),
    audited as (${audit(sql, scope, "authority.activated", sql`select id, jsonb_build_object('certificateId', certificate_id, 'subject', subject) from authority`)})
    select ${authorityJson(sql, now)} as json, version from authority`;
  await stampAuthority(sql, stamps, scope.organizationId, id);
  return activated ?? "conflict";
}

export type Changed = { name: string; enabled: boolean; profiles: Profile[]; publicUrl: string };

/** `changed` names the fields that are new. */
export async function writeChange(
  sql: Sql,
  stamps: Stamps,
  scope: Scope,
  id: string,
  { name, enabled, profiles, publicUrl }: Changed,
  changed: string[],
  now: Date,
) {
  const [row] = await sql<Resource[]>`
    with authority as (
      update authorities set name = ${name}, enabled = ${enabled}, profiles = ${JSON.stringify(profiles)}::jsonb, public_url = ${publicUrl},
        version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${id} returning *),
    audited as (${audit(sql, scope, "authority.updated", sql`select id, jsonb_build_object('changed', ${JSON.stringify(changed)}::jsonb) from authority`)})
    select ${authorityJson(sql, now)} as json, version from authority`;
  await stampAuthority(sql, stamps, scope.organizationId, id);
  if (changed.includes("profiles")) await noteChange(sql, scope.organizationId, issuersOf(sql, scope.organizationId, id));
  return row;
}

const issuersOf = (sql: Sql, organizationId: string, id: string) =>
  sql`select id from issuers where organization_id = ${organizationId} and kind = 'internal' and config->>'authorityId' = ${id}::text`;

/**
 * Returns, as a sentence, what still needs the authority: an authority below it, an issuer, or its certificates until they have
 * expired.
 */
export async function findDependents(sql: Sql, organizationId: string, id: string, now: Date) {
  const [row] = await sql<{ live: boolean; child: string | null; issuer: string | null }[]>`
    select exists (
        select from issued_certificates as issued
        where issued.organization_id = ${organizationId} and issued.authority_id = ${id} and issued.not_after > ${now.toISOString()}) as live,
      (select name from authorities where organization_id = ${organizationId} and parent_id = ${id} limit 1) as child,
      (select name from issuers where organization_id = ${organizationId} and kind = 'internal' and config->>'authorityId' = ${id}::text limit 1) as issuer`;
  if (row?.child != null) return `The authority "${row.child}" is below it. Delete that one first.`;
  if (row?.issuer != null) return `The issuer "${row.issuer}" has it issue. Delete that one first, or have it name another authority.`;
  return row?.live
    ? "Not all its certificates have expired, and clients ask it whether they are revoked. Disable it, and delete it once they have."
    : undefined;
}

/**
 * Removes an authority with its key and publications; its certificates stay. The authority above it also forgets the
 * certificate, whose key no longer exists.
 */
export const removeAuthority = (sql: Sql, scope: Scope, id: string) => sql`
  with deleted as (delete from authorities where organization_id = ${scope.organizationId} and id = ${id} returning *),
  publications as (delete from authority_publications where organization_id = ${scope.organizationId} and authority_id = ${id}),
  issued as (delete from issued_certificates 
    using deleted where issued_certificates.organization_id = deleted.organization_id
      and (issued_certificates.authority_id = deleted.id or issued_certificates.certificate_id = deleted.certificate_id))
  ${audit(sql, scope, "authority.deleted", sql`select id, jsonb_build_object('name', name, 'subject', subject) from deleted`)}`;
