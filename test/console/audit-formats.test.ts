import { expect, test } from "bun:test";
import { CSV_HEADER, toCsv, toJsonLine } from "../../src/console/app/pages/audit/formats";
import type { AuditEvent } from "../../src/console/app/pages/audit/types";

const EVENT: AuditEvent = {
  id: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
  at: "2026-11-23T11:00:00.000Z",
  actor: { type: "user", id: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c02", via: { type: "gateway" } },
  action: "certificate.revoked",
  targetType: "certificate",
  targetId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c03",
  requestId: null,
  details: { reason: "superseded" },
};

test("an event is one line of CSV with as many cells as the header; cells with quotes and commas are quoted", () => {
  expect(CSV_HEADER).toBe("at,action,actorType,actorId,actorRole,viaType,viaId,targetType,targetId,requestId,details,id\r\n");
  expect(toCsv(EVENT)).toBe(
    `2026-11-23T11:00:00.000Z,certificate.revoked,user,${EVENT.actor.id},,gateway,,certificate,${EVENT.targetId},,"{""reason"":""superseded""}",${EVENT.id}\r\n`,
  );
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])("a cell that a spreadsheet would compute gets a quote before it: %j", (text) => {
  const [, second = ""] = toCsv({ ...EVENT, at: "x", action: text }).split(/^x,/);
  expect(second.replace(/^"/, "").startsWith(`'${text}`)).toBe(true);
});

test("a cell with a line break stays one cell", () => {
  expect(toCsv({ ...EVENT, targetId: "a\r\nb" })).toContain(',"a\r\nb",');
});

test("an event is one line of JSON", () => {
  const line = toJsonLine({ ...EVENT, details: { text: "a\nb" } });
  expect(line.trimEnd().split("\n")).toHaveLength(1);
  expect(JSON.parse(line)).toEqual({ ...EVENT, details: { text: "a\nb" } });
});
