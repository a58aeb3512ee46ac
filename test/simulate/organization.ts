import type { Pool } from "#db/connect";
import type { Known } from "./oracle";

const MEMBERS = 4;
const ADMINS = 2;

/** An organization of a few members; the first of them are its admins. */
export async function newPeople(sql: Pool) {
  const organizationId = Bun.randomUUIDv7();
  await sql`insert into organizations (id, name) values (${organizationId}, 'A year')`;
  const people = Array.from({ length: MEMBERS }, () => crypto.randomUUID());
  const rows = people.map((userId, index) => ({ userId, role: index < ADMINS ? "ORG_ADMIN" : "ORG_MEMBER", email: `${userId}@people.example` }));
  await sql`insert into users (id, email) select "userId", email from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as row ("userId" uuid, email text)`;
  await sql`
    insert into members (organization_id, id, user_id, email, role, status)
    select ${organizationId}, new_id(), "userId", email, role, 'active' from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as row ("userId" uuid, email text, role member_role)`;
  const scope = { organizationId, actor: { type: "command-line" as const }, requestId: null };
  return { organizationId, scope, people, admins: people.slice(0, ADMINS) };
}

/** As an import stores them, with the same triggers. */
export async function importCertificates(sql: Pool, organizationId: string, certificates: Known[]) {
  const rows = certificates.map(({ id, names, notBefore, notAfter, ownerId }) => ({ id, name: `host-${names}.example`, notBefore, notAfter, ownerId }));
  await sql`
    insert into certificates (organization_id, id, common_name, fingerprint_sha256, subject, issuer, subject_hash, issuer_hash, not_before, not_after, is_ca, self_signed, facts, pem, search, owner_id)
    select ${organizationId}, id, name, encode(sha256(id::text::bytea), 'hex'), 'CN=' || name, 'CN=CA', name, 'CA', to_timestamp("notBefore" / 1000.0), to_timestamp("notAfter" / 1000.0),
      false, false, jsonb_build_object('subjectAlternativeNames', jsonb_build_object('dns', jsonb_build_array(name))), '', array_to_tsvector(array[name]), "ownerId"
    from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as row (id uuid, name text, "notBefore" bigint, "notAfter" bigint, "ownerId" uuid)`;
}

export async function isPending(sql: Pool, organizationId: string) {
  const [row] = await sql<{ isPending: boolean }[]>`
    select exists (select from notification_events where organization_id = ${organizationId} and told_at is null) as "isPending"`;
  return row?.isPending ?? false;
}

/** How often each user has each thing in their inbox. */
export async function listReceived(sql: Pool, organizationId: string) {
  const rows = await sql<{ key: string; count: number }[]>`
    select concat_ws(' ', n.user_id, e.subject_id, e.kind, coalesce(e.data ->> 'days', '')) as key, count(*)::int as count
    from notification_events e join notices n on n.notification_id = e.notification_id where e.organization_id = ${organizationId} group by 1`;
  return new Map(rows.map(({ key, count }) => [key, count]));
}
