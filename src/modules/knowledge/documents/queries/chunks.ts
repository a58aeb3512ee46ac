import type { Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { PageAfter } from "#db/page";
import { audit, type Scope } from "#modules/people/audit/queries";

export type Chunk = { chunkIndex: number; text: string };

/**
 * Writes chunks over those of the same index, of the running job's draft or the served text; false without such a document. The
 * document is locked, so that none misses the job's end.
 */
export async function saveChunks(sql: Sql, scope: Scope, documentId: string, chunks: Chunk[]) {
  const { organizationId } = scope;
  const written = sql`select document.id, jsonb_build_object('chunks', written) from document, counted where written > 0`;
  const rows = await sql`
    -- locks the document; target is the generation to write to
    with document as (
      select id, coalesce(next_generation, generation) as target, next_generation is null as is_served from documents
      where organization_id = ${organizationId} and id = ${documentId} for update),
    -- adds or overwrites chunks; one row for each that changed
    saved as (
      insert into document_chunks (organization_id, document_id, generation, chunk_index, text)
      select ${organizationId}, document.id, document.target, given."chunkIndex", given.text
      from document, jsonb_to_recordset(${JSON.stringify(chunks)}::jsonb) as given ("chunkIndex" int, text text)
      on conflict (organization_id, document_id, generation, chunk_index) do update set text = excluded.text, updated_at = now()
      where document_chunks.text <> excluded.text
      returning xmax = 0 as is_new),
    -- how many chunks were written, and how many of them are new
    counted as (select count(*)::int as written, (count(*) filter (where is_new))::int as added from saved),
    -- updates the document, when its served chunks changed
    changed as (
      update documents set chunk_count = chunk_count + added, version = version + 1, updated_at = now() from document, counted
      where documents.organization_id = ${organizationId} and documents.id = document.id and is_served and written > 0),
    -- the audit event, when a chunk was written
    audited as (${audit(sql, scope, "document.chunks-saved", written)})
    select id from document`;
  return rows.length > 0;
}

type ChunkPage = { limit: number; after: number };

/** The chunks that a search sees, in order; one more than `limit`. */
export async function listChunks(sql: Sql, organizationId: string, documentId: string, { limit, after }: ChunkPage) {
  const rows = await sql<{ index: number; json: string }[]>`
    select chunk_index as index, json_build_object('chunkIndex', chunk_index, 'text', text, 'updatedAt', iso(updated_at))::text as json
    from document_chunks
    where organization_id = ${organizationId} and document_id = ${documentId} and chunk_index > ${after}::bigint
      and generation = (select generation from documents where organization_id = ${organizationId} and id = ${documentId})
    order by chunk_index limit ${limit + 1}`;
  return rows.map(({ index, json }) => ({ json, key: [String(index)] }));
}

/** How many passages are ranked: enough for any reader, and few enough for a word that stands everywhere. */
const MOST = 10_000;

/**
 * Lists the best passages for a search (quotes, OR, -without), one more than `limit`, as escaped HTML with <mark>. Results are
 * materialized, so that each stored vector is read once.
 */
export async function searchChunks(
  sql: Sql,
  organizationId: string,
  q: string,
  { limit, after }: PageAfter<readonly [rank: string, documentId: string, chunkIndex: string]>,
) {
  const [rank, documentId, chunkIndex] = after ?? ["-Infinity", MIN_UUID, "-1"];
  const words = sql`websearch_to_tsquery('english', ${q})`;
  const rows = await sql<{ json: string; key: string; documentId: string; index: number }[]>`
    with found as materialized (
      select c.document_id, c.generation, c.chunk_index, d.title, -ts_rank_cd(c.search, ${words}, 1)::float8 as rank
      from document_chunks c join documents d on d.organization_id = c.organization_id and d.id = c.document_id and d.generation = c.generation
      where numnode(${words}) > 0 and c.organization_id = ${organizationId} and c.search @@ (${words} && ${`'${organizationId}'`}::tsquery)
      limit ${MOST}),
    best as materialized (
      select * from found where (rank, document_id, chunk_index) > (${rank}::float8, ${documentId}, ${chunkIndex}::bigint)
      order by rank, document_id, chunk_index limit ${limit + 1}),
    shown as (
      select best.*, c.text, ts_headline('english', translate(c.text, ${OPEN + CLOSE}, ''), ${words}, ${HEADLINE}) as headline
      from best join document_chunks c on c.organization_id = ${organizationId}
        and (c.document_id, c.generation, c.chunk_index) = (best.document_id, best.generation, best.chunk_index))
    select rank::text as key, document_id as "documentId", chunk_index as index, json_build_object('documentId', document_id, 'title', title,
      'chunkIndex', chunk_index, 'text', text, 'highlight', ${escapeHtml(sql)}, 'rank', (-rank)::float4)::text as json
    from shown order by rank, document_id, chunk_index`;
  return rows.map((row) => ({ json: row.json, key: [row.key, row.documentId, String(row.index)] }));
}

// Two characters that no text may contain stand for the marks until the rest is escaped.
const [OPEN, CLOSE] = ["\uE000", "\uE001"];
const HEADLINE = `StartSel=${OPEN}, StopSel=${CLOSE}, MaxFragments=2, MinWords=10, MaxWords=30, FragmentDelimiter=" … "`;

const escapeHtml = (sql: Sql) => sql`
  replace(replace(replace(replace(replace(replace(replace(headline, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;'),
    ${OPEN}, '<mark>'), ${CLOSE}, '</mark>')`;
