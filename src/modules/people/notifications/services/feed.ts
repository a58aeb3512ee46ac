import type { Sql } from "#db/connect";
import { inboxPositions, noticesAfter } from "../queries";

const LOOK_EVERY = 1_000;

type Listener = { userId: string; position: number; send: (position: number, json: string) => void; end: () => void };
export type Feed = ReturnType<typeof createFeed>;

/**
 * Tells listening users of their new notices: one look a second at the inboxes of those who listen to this process,
 * whatever process the notice came from.
 */
export function createFeed(sql: Sql, onFailure: (error: unknown) => void) {
  const listeners = new Set<Listener>();
  let timer: Timer | undefined;

  async function deliver(listener: Listener) {
    for (const { position, json } of await noticesAfter(sql, listener.userId, listener.position)) {
      listener.position = position;
      listener.send(position, json);
    }
  }

  async function look() {
    const positions = new Map((await inboxPositions(sql, [...new Set([...listeners].map((each) => each.userId))])).map((each) => [each.userId, each.total]));
    for (const listener of listeners) if ((positions.get(listener.userId) ?? 0) > listener.position) await deliver(listener);
  }

  function schedule() {
    timer ??= setTimeout(async () => {
      await look().catch(onFailure);
      timer = undefined;
      if (listeners.size > 0) schedule();
    }, LOOK_EVERY);
  }

  /** Listens from `position` on; without one, from now on. Returns a function that stops it. */
  async function listen({ position, ...listener }: Omit<Listener, "position"> & { position: number | undefined }) {
    const [inbox] = position === undefined ? await inboxPositions(sql, [listener.userId]) : [];
    const entry = { ...listener, position: position ?? inbox?.total ?? 0 };
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
