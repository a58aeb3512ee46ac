import { Elysia, t } from "elysia";
import type { Deps } from "#deps";
import { inOrganization } from "#guards/in-organization";
import { platformStaff } from "#guards/platform-staff";
import { worker } from "#guards/worker";
import { ifMatch } from "#http/etag";
import { requestId } from "#http/exchange";
import { page, pageBefore, readCursor, UUID_PART } from "#http/pagination";
import { respond, respondCreated } from "#http/respond";
import { Empty, EmptyObject, Message, NotFound, OneOf, Page, PageQuery, PathId, Text, Uuid, uuidOrNil } from "#http/schema";
import { type Act, addPlatformEvent, type Scope } from "#modules/people/audit/queries";
import { listChunks, saveChunks, searchChunks } from "./queries/chunks";
import { deleteDocument, findDocument, listDocuments } from "./queries/documents";
import { cleanFileName, readKind, repeatedIndex } from "./rules/documents";
import { documentRead, documentsListed } from "./rules/read-events";
import { Chunk, Document, IndexingJob, Passage, SaveChunks, SignedDownload, STATUSES, UploadDocument } from "./schema";
import { requestIndexing, uploadDocument } from "./services/upload";

const NO_DOCUMENT = "There is no such document.";
const NOT_OF_ORGANIZATION = "There is no such document in this organization.";
const OneDocument = t.Object({ documentId: { ...PathId, format: "uuid" } });
const LINK_LIFETIME = 300_000;
const INDEX_PART = /^\d{1,10}$/;
const RANK_PART = /^-?\d{1,9}(\.\d{1,20})?(e-\d{1,2})?$/;

type Context = { caller: { userId: string }; request: Request };
const actOf = ({ caller, request }: Context): Act => ({
  actor: { type: "user", id: caller.userId },
  requestId: requestId(request),
});

export const documents = (deps: Deps) =>
  new Elysia({ prefix: "/admin/knowledge-base/documents", tags: ["Knowledge"] })
    .use(platformStaff(deps))
    .post(
      "",
      async ({ body, caller, request }) => {
        const fileName = cleanFileName(body.file.name ?? "");
        const bytes = await body.file.bytes();
        const kind = readKind(fileName, bytes);
        if ("invalid" in kind) return respond(kind);
        const organizationId = body.organizationId.toLowerCase();
        if (!(await deps.organizationExists(organizationId))) return respond("not found", "There is no such organization.");
        const scope = { ...actOf({ caller, request }), organizationId };
        const created = await uploadDocument(deps, scope, { title: body.title, fileName, bytes, ...kind });
        return respondCreated(created, `/admin/knowledge-base/documents/${created.id}`);
      },
      {
        body: UploadDocument,
        response: { 201: Document, 400: Message, 404: NotFound(NO_DOCUMENT) },
        detail: {
          operationId: "uploadDocument",
          summary: "Upload a knowledge document",
          description: "A form. The document is indexed by itself; its status shows when it is ready.",
        },
      },
    )
    .get(
      "",
      async ({ query, caller, request }) => {
        const rows = await listDocuments(deps.sql, query, pageBefore(query));
        deps.reads.add(documentsListed(actOf({ caller, request }), query.organizationId));
        return page(rows, query.limit);
      },
      {
        query: t.Object({
          ...PageQuery,
          organizationId: t.Optional({ ...Uuid, description: "Only documents of this organization" }),
          status: t.Optional(OneOf(STATUSES, { description: "Only documents in this state" })),
        }),
        response: { 200: Page(Document), 400: Message },
        detail: { operationId: "listDocuments", summary: "List knowledge documents", description: "Newest first." },
      },
    )
    .get(
      "/:documentId",
      async ({ params, caller, request }) => {
        const document = await findDocument(deps.sql, params.documentId);
        if (!document) return respond(document, NO_DOCUMENT);
        deps.reads.add(documentRead(actOf({ caller, request }), "document", params.documentId, document.organizationId));
        return respond(document);
      },
      {
        params: OneDocument,
        response: { 200: Document, 404: NotFound(NO_DOCUMENT) },
        detail: { operationId: "getDocument", summary: "Get one knowledge document" },
      },
    )
    .get(
      "/:documentId/chunks",
      async ({ params, query, caller, request }) => {
        const document = await findDocument(deps.sql, params.documentId);
        if (!document) return respond(document, NO_DOCUMENT);
        deps.reads.add(documentRead(actOf({ caller, request }), "chunks", params.documentId, document.organizationId));
        const after = Number(readCursor(query.cursor, INDEX_PART)?.[0] ?? -1);
        return page(await listChunks(deps.sql, document.organizationId, params.documentId, { limit: query.limit, after }), query.limit);
      },
      {
        params: OneDocument,
        query: t.Object(PageQuery),
        response: { 200: Page(Chunk), 400: Message, 404: NotFound(NO_DOCUMENT) },
        detail: { operationId: "listChunks", summary: "List the chunks of a knowledge document", description: "Those that a search sees, in order." },
      },
    )
    .get(
      "/:documentId/download",
      async ({ params, request, caller }) => {
        const document = await findDocument(deps.sql, params.documentId);
        if (!document) return respond(document, NO_DOCUMENT);
        const expiresAt = new Date(deps.clock().getTime() + LINK_LIFETIME);
        expiresAt.setUTCMilliseconds(0);
        const details = { organizationId: document.organizationId, expiresAt: expiresAt.toISOString() };
        const linked = { action: "document.link-made", targetType: "document", targetId: params.documentId.toLowerCase(), details };
        await addPlatformEvent(deps.sql, actOf({ caller, request }), linked);
        const base = deps.config.publicUrl ?? new URL(request.url).origin;
        return { url: deps.store.signedUrl(document.objectKey, document, expiresAt, base), expiresAt: expiresAt.toISOString() };
      },
      {
        params: OneDocument,
        response: { 200: SignedDownload, 404: NotFound(NO_DOCUMENT) },
        detail: {
          operationId: "getDocumentDownload",
          summary: "Get a signed download URL for a knowledge document",
          description: "It is good for five minutes.",
        },
      },
    )
    .post(
      "/:documentId/reindex",
      async ({ params, caller, request, status }) => {
        const job = await requestIndexing(deps, actOf({ caller, request }), params.documentId.toLowerCase());
        return job ? status(202, job) : respond(job, NO_DOCUMENT);
      },
      {
        params: OneDocument,
        response: { 202: IndexingJob, 404: NotFound(NO_DOCUMENT) },
        detail: {
          operationId: "reindexDocument",
          summary: "Reindex a knowledge document",
          description: "What was indexed before is served until the new chunks are complete. While a job is under way, the answer is that job.",
        },
      },
    )
    .delete(
      "/:documentId",
      async ({ params, request, caller }) => {
        const document = await findDocument(deps.sql, params.documentId);
        if (!document) return respond(document, NO_DOCUMENT);
        const scope = { ...actOf({ caller, request }), organizationId: document.organizationId };
        const outcome = await deleteDocument(deps.sql, scope, { id: params.documentId, versions: ifMatch(request.headers) });
        if (outcome === "not found" || outcome === "stale") return respond(outcome, NO_DOCUMENT);
        await deps.store
          .remove(outcome.objectKey)
          .catch((err) => deps.log.warn({ err }, "removing the file of a deleted document failed, the sweep removes it later"));
        return respond("done");
      },
      {
        params: OneDocument,
        response: { 204: Empty, 404: NotFound(NO_DOCUMENT), 412: EmptyObject },
        detail: { operationId: "deleteDocument", summary: "Delete a knowledge document", description: "With its chunks and its file." },
      },
    );

export const chunks = (deps: Deps) =>
  new Elysia({ prefix: "/internal/knowledge/documents", tags: ["Knowledge"] }).use(worker(deps)).post(
    "/:id/chunks",
    async ({ params, body, request }) => {
      const repeated = repeatedIndex(body.chunks);
      if (repeated !== undefined) return respond({ invalid: `body.chunks.${repeated}.chunkIndex is there more than once.` });
      const scope: Scope = { organizationId: uuidOrNil(body.organizationId), actor: { type: "worker" }, requestId: requestId(request) };
      const isSaved = await saveChunks(deps.sql, scope, params.id, body.chunks);
      return isSaved ? {} : respond("not found", NOT_OF_ORGANIZATION);
    },
    {
      params: t.Object({ id: { ...Uuid, description: "The document" } }),
      body: SaveChunks,
      response: { 200: EmptyObject, 400: Message, 404: NotFound(NOT_OF_ORGANIZATION) },
      detail: { operationId: "saveChunks", summary: "Persist chunks of a knowledge document", description: "Sending a batch again changes nothing." },
    },
  );

export const knowledge = (deps: Deps) =>
  new Elysia({ prefix: "/organizations/:organizationId/knowledge", tags: ["Knowledge"] }).use(inOrganization(deps)).get(
    "/search",
    async ({ scope, query }) => {
      const after = readCursor(query.cursor, RANK_PART, UUID_PART, INDEX_PART);
      const search = () => searchChunks(deps.sql, scope.organizationId, query.q, { limit: query.limit, after });
      return page(await deps.lanes.run(scope.organizationId, search), query.limit);
    },
    {
      params: t.Object({ organizationId: Uuid }),
      query: t.Object({ ...PageQuery, q: Text({ description: 'Words; "a phrase", OR and -without work as in a search engine' }) }),
      response: { 200: Page(Passage), 400: Message },
      detail: {
        operationId: "searchKnowledge",
        summary: "Search the knowledge documents",
        description: "Passages, the best first, with what fits highlighted.",
      },
    },
  );
