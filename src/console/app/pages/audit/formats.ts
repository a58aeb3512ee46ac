import { toCsvLine } from "../../parts/csv";
import type { AuditEvent } from "./types";

export const CSV_HEADER = toCsvLine([
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

export const toCsv = ({ id, at, action, actor, targetType, targetId, requestId, details }: AuditEvent) =>
  toCsvLine([
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
