import type { NoticeKind } from "#modules/notifications/events/rules/kinds";

export type NoticeState = "open" | "snoozed" | "acknowledged" | "cleared";
export type Notice = {
  id: string;
  kind: NoticeKind;
  title: string;
  message: string;
  organizationId: string | null;
  link: string | null;
  state: NoticeState | null;
  example: boolean;
  readAt: string | null;
  createdAt: string;
};
export type Inbox = { items: Notice[]; total: number; unread: number };
