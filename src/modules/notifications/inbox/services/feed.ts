import type { Sql } from "#db/connect";
import { type InboxPosition, inboxPositions, noticesAfter } from "../queries";

const POLL_EVERY_MS = 1_000;
/** Inboxes of one statement. */
const AT_ONCE = 500;
const NO_INBOX = { total: 0, unread: 0 };

/** `send` is of a notice, `sendUnread` of the number of unread ones when that alone has changed. */
type Listener = InboxPosition & { unread: number; send: (position: number, json: string) => void; sendUnread: (unread: number) => void; end: () => void };
export type Feed = ReturnType<typeof createFeed>;

/**
 * Sends their new notices to listening users: one read a second of the inboxes of those who listen to this process,
 * whatever process the notice came from.
 */
export function createFeed(sql: Sql, onFailure: (error: unknown) => void) {
  const listeners = new Set<Listener>();
  let timer: Timer | undefined;

  async function poll() {
    const users = [...new Set([...listeners].map(({ userId }) => userId))];
    for (let index = 0; index < users.length; index += AT_ONCE) await update(users.slice(index, index + AT_ONCE));
  }

  async function update(users: string[]) {
    const inboxes = new Map((await inboxPositions(sql, users)).map((inbox) => [inbox.userId, inbox]));
    const behind = new Map<string, Listener[]>();
    for (const listener of listeners) {
      const { total, unread } = inboxes.get(listener.userId) ?? NO_INBOX;
      if (total > listener.position) addTo(behind, keyOf(listener), listener);
      else if (unread !== listener.unread) listener.sendUnread(unread);
      listener.unread = unread;
    }
    if (behind.size > 0) await deliver(behind);
  }

  async function deliver(behind: Map<string, Listener[]>) {
    const places = Array.from(behind.values(), ([first]) => first as InboxPosition).map(({ userId, position }) => ({ userId, position }));
    for (const { userId, after, position, json } of await noticesAfter(sql, places))
      for (const listener of behind.get(keyOf({ userId, position: after })) ?? []) {
        listener.position = position;
        listener.send(position, json);
      }
  }

  function schedule() {
    timer ??= setTimeout(async () => {
      await poll().catch(onFailure);
      timer = undefined;
      if (listeners.size > 0) schedule();
    }, POLL_EVERY_MS);
  }

  /** Listens from `position` on, or without one from now on, and returns a function that stops it. */
  async function listen({ position, ...listener }: Omit<Listener, "position" | "unread"> & { position: number | undefined }) {
    const [inbox] = await inboxPositions(sql, [listener.userId]);
    const { total, unread } = inbox ?? NO_INBOX;
    const entry = { ...listener, position: position ?? total, unread };
    listeners.add(entry);
    schedule();
    return () => void listeners.delete(entry);
  }

  /** Ends every stream, so that the server can stop. */
  function close() {
    for (const listener of listeners) listener.end();
    listeners.clear();
    clearTimeout(timer);
  }

  return { listen, close };
}

const keyOf = ({ userId, position }: InboxPosition) => `${userId} ${position}`;

function addTo(groups: Map<string, Listener[]>, key: string, listener: Listener) {
  const group = groups.get(key);
  if (group) group.push(listener);
  else groups.set(key, [listener]);
}
