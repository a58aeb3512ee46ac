import { sql } from "drizzle-orm";
import { bigint, customType, foreignKey, index, integer, pgEnum, pgTable, primaryKey, text, uniqueIndex, uuid } from "drizzle-orm/pg-core";
import { id, moment, now, versioned } from "./columns";
import { organizationId } from "./organizations";

const tsvector = customType<{ data: string }>({ dataType: () => "tsvector" });

export const documentStatus = pgEnum("document_status", ["uploaded", "indexing", "ready", "failed"]);

export const documents = pgTable(
  "documents",
  {
    organizationId: organizationId(),
    id: id(),
    title: text().notNull(),
    fileName: text().notNull(),
    mediaType: text().notNull(),
    size: bigint({ mode: "number" }).notNull(),
    sha256: text().notNull(),
    /** The place of the bytes in the object store. */
    objectKey: text().notNull(),
    /** The user who uploaded it. */
    uploadedBy: uuid(),
    status: documentStatus().notNull().default("uploaded"),
    failure: text(),
    /** The chunks that a search sees, and those that a running job is writing. */
    generation: integer().notNull().default(0),
    nextGeneration: integer(),
    jobId: uuid(),
    chunkCount: integer().notNull().default(0),
    indexedAt: moment(),
    ...versioned(),
  },
  (table) => [primaryKey({ columns: [table.organizationId, table.id] }), uniqueIndex().on(table.id)],
);

export const documentChunks = pgTable(
  "document_chunks",
  {
    organizationId: organizationId(),
    documentId: uuid().notNull(),
    generation: integer().notNull(),
    chunkIndex: integer().notNull(),
    text: text().notNull(),
    /** Words of the text; the organization is a word too, so that one index serves a search within it. */
    search: tsvector().notNull().generatedAlwaysAs(sql`to_tsvector('english', text) || array_to_tsvector(array[organization_id::text])`),
    updatedAt: now(),
  },
  (table) => [
    primaryKey({ columns: [table.organizationId, table.documentId, table.generation, table.chunkIndex] }),
    foreignKey({ columns: [table.organizationId, table.documentId], foreignColumns: [documents.organizationId, documents.id] }).onDelete("cascade"),
    index().using("gin", table.search),
  ],
);
