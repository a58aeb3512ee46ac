import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { address, read, write } from "../api";
import { toError } from "../errors";
import { serverNow } from "../server-time";
import { unread } from "../title";
import { onNotice } from "./live";
import type { Notice } from "./types";

const PAGE = 50;

export type NoticeList = ReturnType<typeof createList>;

/** The notices of the signed-in user, newest first; those that come meanwhile are put on top. */
export function useNotices(isUnreadAlone: boolean): NoticeList {
  const list = useMemo(() => createList(isUnreadAlone), [isUnreadAlone]);
  useEffect(() => void list.more(), [list]);
  useEffect(() => onNotice(list.add), [list]);
  return list;
}

function createList(isUnreadAlone: boolean) {
  const rows = signal<Notice[]>([]);
  const error = signal<Error | undefined>(undefined);
  const isWhole = signal(false);
  const query = { limit: PAGE, ...(isUnreadAlone && { unread: true }) };

  /** Reads on. Notices that came or were read meanwhile have moved the pages: the page of the last row is read again. */
  async function more() {
    try {
      const inbox = await read(address("users", "me", "notifications", "inbox"), { ...query, page: Math.floor(rows.value.length / PAGE) });
      const known = new Set(rows.value.map(({ id }) => id));
      rows.value = [...rows.value, ...inbox.items.filter(({ id }) => !known.has(id))];
      isWhole.value = inbox.items.length < PAGE;
      unread.value = inbox.unread;
      error.value = undefined;
    } catch (failure) {
      error.value = toError(failure);
    }
  }

  function add(notice: Notice) {
    if (isUnreadAlone && notice.readAt !== null) return;
    if (!rows.value.some(({ id }) => id === notice.id)) rows.value = [notice, ...rows.value];
  }

  /** In the place of the row with its id. */
  function put(notice: Notice) {
    rows.value = rows.value.map((each) => (each.id === notice.id ? notice : each));
  }

  /** Marks some as read, or all. They stay in sight until the list is opened again. */
  async function markRead(ids?: string[]) {
    const marked = await write("POST", address("users", "me", "notifications", "read"), { body: ids ? { ids } : { all: true } });
    const readAt = new Date(serverNow()).toISOString();
    rows.value = rows.value.map((each) => (each.readAt === null && (!ids || ids.includes(each.id)) ? { ...each, readAt } : each));
    unread.value = marked.unread;
  }

  /** Acknowledges, snoozes or reopens what a notice stands for. */
  async function settle({ id }: Notice, action: "acknowledge" | "snooze" | "reopen", body: { reason?: unknown; until?: string }) {
    put(await write("POST", address("users", "me", "notifications", id, action), { body }));
  }

  return { rows, error, isWhole, more, add, markRead, settle };
}
