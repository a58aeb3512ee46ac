import type { Sql } from "#db/connect";
import type { Resource, Target } from "#db/outcome";
import { whereVersion } from "#db/versions";
import { audit, type Scope } from "#modules/people/audit/queries";
import type { CertificatePatch } from "../schema/annotations";
import { annotations, certificateJson, joinFacts, type OfFacts, withPem } from "./certificates";

/**
 * Changes the named fields alone; a patch that repeats the present values writes nothing. `invalid` for an owner who is no
 * active member.
 */
export async function annotateCertificate(sql: Sql, scope: Scope, { id, versions }: Target, patch: CertificatePatch, now: Date) {
  const { organizationId } = scope;
  const shown = sql`version, ${certificateJson(sql, now, withPem(sql))}`;
  const changes = sql`
    select id, jsonb_build_object('changes', (
      select jsonb_object_agg(key, jsonb_build_object('from', before->key, 'to', value)) from jsonb_each(after) where before->key <> value))
    from current where exists (select from changed)`;
  const [row] = await sql<(Pick<Resource, "version"> & OfFacts & { isStale: boolean; mayOwn: boolean })[]>`
    -- the certificate, with what is noted of it and what is to be
    with current as (
      select *, not ${whereVersion(sql, versions)} as is_stale,
        jsonb_build_object(${annotations(sql)}) as before, jsonb_build_object(${annotations(sql)}) || ${JSON.stringify(patch)}::jsonb as after
      from certificates where organization_id = ${organizationId} and id = ${id} for no key update),
    -- whether the new owner, where one is named, is an active member
    judged as (
      select ${patch.ownerId ?? null}::uuid is null or exists (
        select from members where organization_id = ${organizationId} and user_id = ${patch.ownerId ?? null} and status = 'active') as may_own),
    -- writes what is new
    changed as (
      update certificates set owner_id = (after->>'ownerId')::uuid, contacts = after->'contacts', labels = after->'labels', notes = after->>'notes',
        version = certificates.version + 1, updated_at = now()
      from current, judged
      where certificates.organization_id = current.organization_id and certificates.id = current.id and not is_stale and may_own and before <> after
      returning certificates.*),
    -- the audit event, with what was and what is
    audited as (${audit(sql, scope, "certificate.updated", changes)})
    select is_stale as "isStale", may_own as "mayOwn", shown.* from judged, current cross join lateral (
      select ${shown} from changed union all select ${shown} from (select current.*) as kept where not exists (select from changed)) as shown`;
  if (!row) return "not found";
  if (row.isStale) return "stale";
  return row.mayOwn
    ? { json: joinFacts(row), version: row.version }
    : { invalid: "body.ownerId must be the user id of an active member of this organization." };
}

/** Gives a certificate what people have noted of the one that it takes the place of. */
export async function copyAnnotations(sql: Sql, scope: Scope, { from, to }: { from: string; to: string }) {
  await sql`
    with copied as (
      update certificates c set owner_id = old.owner_id, contacts = old.contacts, labels = old.labels, notes = old.notes, version = c.version + 1, updated_at = now()
      from certificates old
      where c.organization_id = ${scope.organizationId} and c.id = ${to} and old.organization_id = ${scope.organizationId} and old.id = ${from}
        and (c.owner_id, c.contacts, c.labels, c.notes) is distinct from (old.owner_id, old.contacts, old.labels, old.notes)
      returning c.id)
    ${audit(sql, scope, "certificate.updated", sql`select id, jsonb_build_object('from', ${from}::text) from copied`)}`;
}
