import { arrayOf, type Sql } from "#db/connect";
import { MAX_UUID } from "#db/ids";
import type { Failure, Resource, Target } from "#db/outcome";
import type { PageBefore } from "#db/page";
import { whereVersion } from "#db/versions";
import { audit, type Scope, userOf } from "#modules/people/audit/queries";
import { UUID } from "#text/uuid";

/** Returns a document's JSON. */
const documentJson = (sql: Sql) => sql`json_build_object('id', id, 'organizationId', organization_id, 'title', title, 'fileName', file_name,
  'mediaType', media_type, 'size', size, 'sha256', sha256, 'status', status, 'failure', failure, 'chunkCount', chunk_count,
  'indexedAt', iso(indexed_at), 'version', version, 'createdAt', iso(created_at), 'updatedAt', iso(updated_at))::text`;

export type NewDocument = { id: string; title: string; fileName: string; mediaType: string; size: number; sha256: string; objectKey: string; jobId: string };

export async function insertDocument(sql: Sql, scope: Scope, document: NewDocument): Promise<Resource & { id: string }> {
  const { id, title, fileName, mediaType, size, sha256, objectKey, jobId } = document;
  const uploaded = sql`select id, jsonb_build_object('title', title, 'fileName', file_name, 'sha256', sha256) from created`;
  const [row] = await sql<Resource[]>`
    with created as (
      insert into documents (organization_id, id, title, file_name, media_type, size, sha256, object_key, job_id, uploaded_by)
      values (${scope.organizationId}, ${id}, ${title}, ${fileName}, ${mediaType}, ${size}, ${sha256}, ${objectKey}, ${jobId}, ${userOf(scope)}) returning *),
    audited as (${audit(sql, scope, "document.uploaded", uploaded)})
    select ${documentJson(sql)} as json, version from created`;
  if (!row) throw new Error("a document was not created");
  return { ...row, id };
}

export async function findDocument(sql: Sql, id: string) {
  const [row] = await sql<(Resource & { organizationId: string; fileName: string; mediaType: string; objectKey: string })[]>`
    select ${documentJson(sql)} as json, version, organization_id as "organizationId", file_name as "fileName", media_type as "mediaType",
      object_key as "objectKey"
    from documents where id = ${id}`;
  return row;
}

export type DocumentFilter = { organizationId?: string | undefined; status?: string | undefined };

/** Newest first; one more than `limit`. */
export async function listDocuments(sql: Sql, { organizationId, status }: DocumentFilter, { limit, before }: PageBefore) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, ${documentJson(sql)} as json from documents
    where id < ${before ?? MAX_UUID}
      ${organizationId ? sql`and organization_id = ${organizationId}` : sql``}
      ${status ? sql`and status = ${status}` : sql``}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}

/** Removes the document and what was indexed of it. Returns the key of its file in the store. */
export async function deleteDocument(
  sql: Sql,
  scope: Scope,
  { id, versions }: Target,
): Promise<{ objectKey: string } | Extract<Failure, "not found" | "stale">> {
  const [row] = await sql<{ objectKey: string | null }[]>`
    with deleted as (
      delete from documents where organization_id = ${scope.organizationId} and id = ${id} and ${whereVersion(sql, versions)}
      returning id, title, file_name, object_key),
    audited as (${audit(sql, scope, "document.deleted", sql`select id, jsonb_build_object('title', title, 'fileName', file_name) from deleted`)})
    select (select object_key from deleted) as "objectKey" from documents where organization_id = ${scope.organizationId} and id = ${id}`;
  if (!row) return "not found";
  return row.objectKey === null ? (versions === undefined ? "not found" : "stale") : { objectKey: row.objectKey };
}

/** Returns the name of a document's bytes in the store. */
export const objectKeyOf = (organizationId: string, documentId: string) => `${organizationId}.${documentId}`;
const ID = UUID.source.slice(1, -1); // without its anchors
const OBJECT_KEY = new RegExp(`^${ID}\\.${ID}$`);

/**
 * Of the keys of stored objects, those of organizations of this database which no document names. What another database left is
 * its own.
 */
export async function findOrphans(sql: Sql, keys: string[]) {
  const ours = keys.filter((key) => OBJECT_KEY.test(key));
  const rows = await sql<{ key: string }[]>`
    select key from unnest(${arrayOf(ours)}::text[]) as key
    where exists (select from organizations where id = split_part(key, '.', 1)::uuid)
      and not exists (select from documents where organization_id = split_part(key, '.', 1)::uuid and id = split_part(key, '.', 2)::uuid)`;
  return rows.map((row) => row.key);
}
