import { sha256 } from "#crypto/sha256";
import type { Deps } from "#deps";
import type { Scope } from "#modules/people/audit/queries";
import { insertDocument, objectKeyOf } from "../queries/documents";
import { assignJob, INDEX_DOCUMENT, lockDocument } from "../queries/indexing";

type Services = Pick<Deps, "sql" | "store" | "queue">;
type Upload = { title: string; fileName: string; mediaType: string; bytes: Uint8Array };

/** First the bytes, then the row with its indexing job: what a crash leaves between the two is swept away later. */
export async function uploadDocument({ sql, store, queue }: Services, scope: Scope, { bytes, ...upload }: Upload) {
  const id = Bun.randomUUIDv7();
  const jobId = Bun.randomUUIDv7();
  const objectKey = objectKeyOf(scope.organizationId, id);
  await store.put(objectKey, bytes);
  const facts = { size: bytes.length, sha256: sha256(bytes), objectKey };
  const created = await sql.begin(async (tx) => {
    const document = await insertDocument(tx, scope, { id, jobId, ...upload, ...facts });
    await queue.send(tx, INDEX_DOCUMENT, jobId, { organizationId: scope.organizationId, documentId: id, jobId });
    return document;
  });
  queue.wake(INDEX_DOCUMENT);
  return created;
}

/** The document's indexing job: the one that is under way, else a new one; undefined when there is no such document. */
export async function requestIndexing({ sql, queue }: Services, by: Omit<Scope, "organizationId">, documentId: string) {
  const job = await sql.begin(async (tx) => {
    const document = await lockDocument(tx, documentId);
    if (!document) return;
    const { organizationId, jobId, isRunning } = document;
    if (jobId && (await queue.isPending(tx, INDEX_DOCUMENT, jobId)))
      return { jobId, documentId, status: isRunning ? ("running" as const) : ("queued" as const) };
    const fresh = { organizationId, documentId, jobId: Bun.randomUUIDv7() };
    await assignJob(tx, { ...by, organizationId }, fresh);
    await queue.send(tx, INDEX_DOCUMENT, fresh.jobId, fresh);
    return { jobId: fresh.jobId, documentId, status: "queued" as const };
  });
  queue.wake(INDEX_DOCUMENT);
  return job;
}
