import type { AuditEvent } from "./types";

/** A spreadsheet computes what begins with one of these: a quote before it makes it text. */
const FORMULA = /^[=+\-@\t\r]/;

export const CSV_HEADER = toLine([
  "at",
  "action",
  "actorType",
  "actorId",
  "actorRole",
  "viaType",
  "viaId",
  "targetType",
  "targetId",
  "requestId",
  "details",
  "id",
]);

/** One line of CSV (RFC 4180). */
export const toCsv = ({ id, at, action, actor, targetType, targetId, requestId, details }: AuditEvent) =>
  toLine([
    at,
    action,
    actor.type,
    actor.id ?? "",
    actor.role ?? "",
    actor.via?.type ?? "",
    actor.via?.id ?? "",
    targetType,
    targetId,
    requestId ?? "",
    JSON.stringify(details),
    id,
  ]);

export const toJsonLine = (event: AuditEvent) => `${JSON.stringify(event)}\n`;

function toLine(cells: string[]) {
  return `${cells.map(toCell).join(",")}\r\n`;
}

function toCell(text: string) {
  const harmless = FORMULA.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
}
