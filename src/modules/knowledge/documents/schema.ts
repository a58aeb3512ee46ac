import { t } from "elysia";
import {
  Answer,
  Body,
  CreatedAt,
  DateTime,
  ExactText,
  Id,
  Integer,
  Nullable,
  OneOf,
  OrganizationId,
  Text,
  UpdatedAt,
  Upload,
  Uuid,
  Version,
} from "#http/schema";

export const STATUSES = ["uploaded", "indexing", "ready", "failed"] as const;

const Title = t.String({ description: "What people call the document", examples: ["Key management policy"] });

export const Document = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    title: Title,
    fileName: t.String({ description: "As it was uploaded", examples: ["key-management.md"] }),
    mediaType: t.String({ description: "What the file was taken for", examples: ["text/markdown"] }),
    size: Integer({ description: "Bytes", examples: [18_204] }),
    sha256: t.String({
      description: "Of the file, lower-case hexadecimal",
      examples: ["58cff3b6fb4fa64d65a8806e86a7039a632a5f78a23b71b8db1e8475b3f7bcd7"],
    }),
    status: OneOf(STATUSES, { description: "ready: a search finds it", examples: ["ready"] }),
    failure: Nullable(t.String({ description: "Why the last indexing failed" })),
    chunkCount: Integer({ description: "How many chunks a search sees", examples: [17] }),
    indexedAt: Nullable({ ...DateTime, description: "When its chunks were last complete" }),
    version: Version,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "Document" },
);

export const UploadDocument = Body(
  {
    file: Upload({
      description: "must be a file: plain text, Markdown or HTML in UTF-8, at most 50 MiB",
      examples: ["# Key management\n\nKeys rotate yearly."],
    }),
    title: Text({ description: "What people call it", examples: ["Key management policy"] }),
    organizationId: OrganizationId,
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
      description: "Each index once; what is sent again changes nothing",
    }),
  },
  { title: "SaveChunks" },
);

export const Chunk = Answer(
  { chunkIndex, text: t.String({ description: "Exactly as it was sent", examples: [PASSAGE] }), updatedAt: UpdatedAt },
  { title: "Chunk" },
);

export const SignedDownload = Answer(
  {
    url: t.String({ format: "uri", description: "Anybody may read the file from it until it expires" }),
    expiresAt: { ...DateTime, description: "In five minutes" },
  },
  { title: "SignedDownload" },
);

export const IndexingJob = Answer(
  {
    jobId: { ...Uuid, description: "The indexing" },
    documentId: { ...Uuid, description: "What is indexed" },
    status: OneOf(["queued", "running"], { description: "What the document is like shows its own status" }),
  },
  { title: "IndexingJob" },
);

export const Passage = Answer(
  {
    documentId: { ...Uuid, description: "Where it stands" },
    title: Title,
    chunkIndex,
    text: t.String({ description: "The whole chunk", examples: [PASSAGE] }),
    highlight: t.String({
      description: "HTML: what was looked for stands in <mark>, and all else is escaped",
      examples: ["<mark>Keys</mark> <mark>rotate</mark> yearly."],
    }),
    rank: t.Number({ description: "How well it fits, compared with the others", examples: [0.1] }),
  },
  { title: "Passage" },
);
