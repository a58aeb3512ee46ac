import { t } from "elysia";
import { Answer, Body, DateTime, ExactText, Integer, Nullable, OneOf, Text, Upload, Uuid } from "#http/schema";

export const STATUSES = ["uploaded", "indexing", "ready", "failed"] as const;

const Title = t.String({ examples: ["Key management policy"] });

export const Document = Answer(
  {
    id: Uuid,
    organizationId: Uuid,
    title: Title,
    fileName: t.String({ examples: ["key-management.md"] }),
    mediaType: t.String({ examples: ["text/markdown"] }),
    size: Integer({ description: "Bytes", examples: [18_204] }),
    sha256: t.String({
      description: "Of the file, lower-case hexadecimal",
      examples: ["58cff3b6fb4fa64d65a8806e86a7039a632a5f78a23b71b8db1e8475b3f7bcd7"],
    }),
    status: OneOf(STATUSES, { examples: ["ready"] }),
    failure: Nullable(t.String({ description: "Why the last indexing failed" })),
    chunkCount: Integer({ description: "How many chunks a search sees", examples: [17] }),
    indexedAt: Nullable(DateTime),
    version: Integer(),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  { title: "Document" },
);

export const UploadDocument = Body(
  {
    file: Upload({
      description: "must be a file: plain text, Markdown or HTML in UTF-8, at most 50 MiB",
      examples: ["# Key management\n\nKeys rotate yearly."],
    }),
    title: Text({ examples: ["Key management policy"] }),
    organizationId: Uuid,
  },
  { title: "UploadDocument", contentMediaType: "multipart/form-data" },
);

const chunkIndex = Integer({ minimum: 0, maximum: 2_147_483_647, description: "Position in the document, from 0", examples: [0] });
const PASSAGE = "Keys rotate yearly. The new one signs from its first day, the old one verifies for a month.";

export const SaveChunks = Body(
  {
    organizationId: ExactText({ max: 200, description: "The organization that owns the document", examples: ["0193b3c0-0000-7000-8000-00000000d350"] }),
    chunks: t.Array(Body({ chunkIndex, text: ExactText({ max: 32_000, description: "Kept exactly as it is", examples: [PASSAGE] }) }), {
      minItems: 1,
      maxItems: 1_000,
    }),
  },
  { title: "SaveChunks" },
);

export const Chunk = Answer({ chunkIndex, text: t.String({ examples: [PASSAGE] }), updatedAt: DateTime }, { title: "Chunk" });

export const SignedDownload = Answer(
  { url: t.String({ format: "uri", description: "Anybody may read the file from it until it expires" }), expiresAt: DateTime },
  { title: "SignedDownload" },
);

export const IndexingJob = Answer(
  { jobId: Uuid, documentId: Uuid, status: OneOf(["queued", "running"], { description: "What the document is like shows its own status" }) },
  { title: "IndexingJob" },
);

export const Passage = Answer(
  {
    documentId: Uuid,
    title: Title,
    chunkIndex,
    text: t.String({ examples: [PASSAGE] }),
    highlight: t.String({
      description: "HTML: what was looked for stands in <mark>, and all else is escaped",
      examples: ["<mark>Keys</mark> <mark>rotate</mark> yearly."],
    }),
    rank: t.Number({ description: "How well it fits, compared with the others", examples: [0.1] }),
  },
  { title: "Passage" },
);
