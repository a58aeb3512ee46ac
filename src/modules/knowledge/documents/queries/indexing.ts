import type { Sql } from "#db/connect";
import { recordEvents } from "#modules/notifications/events/queries/record";
import { audit, type Scope } from "#modules/people/audit/queries";

/** The queue of the jobs that index documents. */
export const INDEX_DOCUMENT = "index-document";

/** The job of a document. Its attempts change nothing once the document has another job. */
export type IndexingJob = { organizationId: string; documentId: string; jobId: string };

const ofJob = (sql: Sql, { organizationId, documentId, jobId }: IndexingJob) =>
  sql`organization_id = ${organizationId} and id = ${documentId} and job_id = ${jobId}`;

/** The document with its job, locked until the transaction ends. */
export async function lockDocument(sql: Sql, id: string) {
  const [row] = await sql<{ organizationId: string; jobId: string | null; isRunning: boolean }[]>`
    select organization_id as "organizationId", job_id as "jobId", next_generation is not null as "isRunning" from documents where id = ${id} for update`;
  return row;
}

/** The jobs that documents wait for. */
export const findUnfinished = (sql: Sql) =>
  sql<IndexingJob[]>`select organization_id as "organizationId", id as "documentId", job_id as "jobId" from documents where job_id is not null`;

/** Gives the document a job of its own. */
export async function assignJob(sql: Sql, scope: Scope, { documentId, jobId }: IndexingJob) {
  await sql`
    with changed as (
      update documents set job_id = ${jobId}, status = 'indexing', failure = null, next_generation = null, version = version + 1, updated_at = now()
      where organization_id = ${scope.organizationId} and id = ${documentId} returning id)
    ${audit(sql, scope, "document.reindex-requested", sql`select id, jsonb_build_object('jobId', ${jobId}::text) from changed`)}`;
}

/** Opens the next generation, or finds it as a killed attempt left it; undefined when there is nothing to do any more. */
export async function beginIndexing(sql: Sql, job: IndexingJob) {
  const [row] = await sql<{ mediaType: string; objectKey: string }[]>`
    with changed as (
      update documents set status = 'indexing', next_generation = coalesce(next_generation, generation + 1),
        version = version + (next_generation is null)::int, updated_at = now()
      where ${ofJob(sql, job)} returning media_type, object_key)
    select media_type as "mediaType", object_key as "objectKey" from changed`;
  return row;
}

/** From now on a search sees the `count` new chunks and no other. */
export async function endIndexing(sql: Sql, scope: Scope, job: IndexingJob, count: number) {
  await sql`
    with changed as (
      update documents set generation = next_generation, next_generation = null, job_id = null, status = 'ready', failure = null,
        chunk_count = ${count}, indexed_at = now(), version = version + 1, updated_at = now()
      where ${ofJob(sql, job)} and next_generation is not null returning id, generation, title, uploaded_by),
    recorded as (${recordEvents(sql, "document_indexed", eventOf(sql, job, null))}),
    removed as (${removeChunks(sql, job, sql`(document_chunks.generation <> changed.generation or chunk_index >= ${count})`)})
    ${audit(sql, scope, "document.indexed", sql`select id, jsonb_build_object('chunks', ${count}::int) from changed`)}`;
}

/** Gives up: what was served before is still served. */
export async function failIndexing(sql: Sql, scope: Scope, job: IndexingJob, failure: string) {
  await sql`
    with changed as (
      update documents set next_generation = null, job_id = null, status = 'failed', failure = ${failure}, version = version + 1, updated_at = now()
      where ${ofJob(sql, job)} returning id, generation, title, uploaded_by),
    recorded as (${recordEvents(sql, "document_failed", eventOf(sql, job, failure))}),
    removed as (${removeChunks(sql, job, sql`document_chunks.generation <> changed.generation`)})
    ${audit(sql, scope, "document.indexing-failed", sql`select id, jsonb_build_object('failure', ${failure}::text) from changed`)}`;
}

const removeChunks = (sql: Sql, { organizationId, documentId }: IndexingJob, which: ReturnType<Sql>) => sql`
  delete from document_chunks using changed where organization_id = ${organizationId} and document_id = ${documentId} and ${which}`;

const eventOf = (sql: Sql, { organizationId }: IndexingJob, reason: string | null) =>
  sql`select ${organizationId}::uuid, id, jsonb_build_object('title', title, 'reason', ${reason}::text), uploaded_by, null::member_role from changed`;
