import { signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { read, write } from "../api";
import { serverNow } from "../server-time";
import { unread } from "../title";
import { onNotice } from "./live";
import type { Inbox, Notice } from "./types";

const PAGE = 50;
const PATH = "users/me/notifications";

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

  /** What came or was read meanwhile has moved the pages: the page that the last row is on is read again. */
  async function more() {
    try {
      const inbox = await read<Inbox>(`${PATH}/inbox`, { ...query, page: Math.floor(rows.value.length / PAGE) });
      const known = new Set(rows.value.map(({ id }) => id));
      rows.value = [...rows.value, ...inbox.items.filter(({ id }) => !known.has(id))];
      isWhole.value = inbox.items.length < PAGE;
      unread.value = inbox.unread;
      error.value = undefined;
    } catch (failure) {
      error.value = failure as Error;
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
    const marked = await write<{ unread: number }>("POST", `${PATH}/read`, { body: ids ? { ids } : { all: true } });
    const readAt = new Date(serverNow()).toISOString();
    rows.value = rows.value.map((each) => (each.readAt === null && (!ids || ids.includes(each.id)) ? { ...each, readAt } : each));
    unread.value = marked.unread;
  }

  /** Acknowledges, snoozes or reopens what a notice stands for. */
  async function settle({ id }: Notice, action: "acknowledge" | "snooze" | "reopen", body: unknown) {
    put(await write<Notice>("POST", `${PATH}/${id}/${action}`, { body }));
  }

  return { rows, error, isWhole, more, add, markRead, settle };
}
