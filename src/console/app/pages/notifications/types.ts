import type { NoticeKind } from "#modules/notifications/events/rules/kinds";
import type { Role } from "../../session";

type Severity = "info" | "warning" | "critical";
export type Target = { connectionId?: string; userIds?: string[]; role?: Role };
export type Route = {
  id: string;
  name: string;
  kinds: NoticeKind[] | null;
  severity: Severity;
  selector: string | null;
  target: Target;
  targetMissing: boolean;
  enabled: boolean;
  version: number;
  createdAt: string;
};
export type Delivery = {
  id: string;
  state: "pending" | "delivered" | "failed";
  test: boolean;
  notification: { kind: NoticeKind; severity: Severity; title: string; message: string; link: string };
  attempts: { at: string; status: number | null; reason: string | null }[];
  reason: string | null;
  nextAttemptAt: string | null;
  createdAt: string;
};
export type RouteTest = { outcome: "delivered" | "failed" | "unsupported"; message: string };
export type Connection = { id: string; name: string; kind: string };
