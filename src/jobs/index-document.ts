import type { Deps, Handle } from "#deps";
import { beginIndexing, endIndexing, failIndexing, INDEX_DOCUMENT, type IndexingJob } from "#modules/knowledge/documents/queries/indexing";
import { splitPassages } from "#modules/knowledge/documents/rules/documents";
import { extractText, Unreadable } from "#modules/knowledge/documents/rules/html";
import type { Scope } from "#modules/people/audit/queries";
import type { QueuedJob, Work } from "./queue";

const BATCH = 100;

export const indexingFailed: QueuedJob = {
  name: `${INDEX_DOCUMENT}-failed`,
  options: { retryLimit: 10, retryDelay: 5, retryBackoff: true, retryDelayMax: 600 },
};
export const indexing: QueuedJob = {
  name: INDEX_DOCUMENT,
  atOnce: 2,
  hasShares: true,
  options: {
    deadLetter: indexingFailed.name,
    expireInSeconds: 3_600,
    heartbeatSeconds: 15,
    retryLimit: 5,
    retryDelay: 2,
    retryBackoff: true,
    retryDelayMax: 120,
  },
};

const scopeOf = ({ organizationId }: IndexingJob): Scope => ({ organizationId, actor: { type: "worker" }, requestId: null });

/**
 * Reads the document, cuts it into passages and hands them over as any worker does. What was indexed before is served until all of them are
 * there.
 */
export const indexDocument =
  (deps: Pick<Deps, "sql" | "store" | "workerKey">, handle: Handle): Work<IndexingJob> =>
  async (job, signal) => {
    const document = await beginIndexing(deps.sql, job);
    if (!document) return; // deleted meanwhile
    try {
      const text = await readText(deps, document);
      const count = await handOver(deps.workerKey, handle, job, text, signal);
      if (count === 0) throw new Unreadable("The document holds no text.");
      await endIndexing(deps.sql, scopeOf(job), job, count);
    } catch (error) {
      if (!(error instanceof Unreadable)) throw error;
      await failIndexing(deps.sql, scopeOf(job), job, error.message);
    }
  };

/** After the last attempt, also that of a server which died each time. */
export const reportFailure =
  (deps: Pick<Deps, "sql">): Work<IndexingJob> =>
  (job) =>
    failIndexing(deps.sql, scopeOf(job), job, "Indexing failed time and again. The server's log says why; try again when it is mended.");

async function readText({ store }: Pick<Deps, "store">, { objectKey, mediaType }: { objectKey: string; mediaType: string }) {
  const object = await store.get(objectKey);
  if (!object) throw new Unreadable("The file is gone from the store. Upload it again.");
  const text = (await object.text()).replace(/\r\n?/g, "\n");
  return mediaType === "text/html" ? extractText(text) : text;
}

/** Returns how many chunks there are. */
async function handOver(key: string, handle: Handle, { organizationId, documentId }: IndexingJob, text: string, signal: AbortSignal) {
  let count = 0;
  let chunks: { chunkIndex: number; text: string }[] = [];
  const send = async () => {
    signal.throwIfAborted();
    if (chunks.length > 0) await post(handle, `/internal/knowledge/documents/${documentId}/chunks`, key, { organizationId, chunks });
    chunks = [];
  };
  for (const passage of splitPassages(text)) {
    chunks.push({ chunkIndex: count++, text: passage });
    if (chunks.length === BATCH) await send();
  }
  await send();
  return count;
}

async function post(handle: Handle, path: string, key: string, body: object) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await handle(new Request(`http://localhost${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
  if (answer.status !== 200) throw new Error(`chunks were answered ${answer.status}: ${await answer.text()}`);
}
