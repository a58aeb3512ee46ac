import { computed, effect, signal, untracked } from "@preact/signals";
import { ApiError, headersOf, read } from "../api";
import { createEventReader, type ServerEvent } from "../server-events";
import { isPerson, isRefused, session } from "../session";
import { unread } from "../title";
import type { Inbox, Notice } from "./types";

/** Until a stream that has ended is followed once more. */
const PAUSE_MS = 2_000;
const HIDDEN_PAUSE_MS = 60_000;
/** Notices that may have come while no stream was followed. */
const CAUGHT_UP = 20;
const STREAM = "users/me/notifications/stream";

const listeners = new Set<(notice: Notice) => void>();
/** Calls `listener` with each notice that comes, and with those that may have come unseen. Returns a function that ends this. */
export function onNotice(listener: (notice: Notice) => void) {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

const follower = computed(() => (isPerson.value ? session.value?.token : undefined));
const isVisible = signal(document.visibilityState === "visible");
document.addEventListener("visibilitychange", () => {
  isVisible.value = document.visibilityState === "visible";
});

/** Where the stream goes on; it belongs to one token. */
let lastId = "";
follower.subscribe(() => {
  lastId = "";
  unread.value = 0;
});

/** A browser has six connections to a server: hidden tabs take none, and count once a minute instead. */
effect(() => {
  const token = follower.value;
  if (token === undefined) return;
  if (!isVisible.value) {
    const timer = setInterval(() => isRefused.value || void countUnread().catch(ignoreUnreachable), HIDDEN_PAUSE_MS);
    return () => clearInterval(timer);
  }
  const ending = new AbortController();
  void untracked(() => follow(token, ending.signal));
  return () => ending.abort();
});

/** Reads how many notices are unread, and the newest ones. */
async function countUnread() {
  const inbox = await read<Inbox>("users/me/notifications/inbox", { limit: CAUGHT_UP });
  unread.value = inbox.unread;
  return inbox.items;
}

const tell = (notice: Notice) => {
  for (const listener of listeners) listener(notice);
};

/** Follows the stream until `signal` is aborted, again from where it was whenever it ends. */
async function follow(token: string, signal: AbortSignal) {
  while (!signal.aborted) {
    // Without an error for each attempt of a console that is offline: the next one comes soon.
    await followOnce(token, signal).catch(ignoreUnreachable);
    await pause(signal);
  }
}

async function followOnce(token: string, signal: AbortSignal) {
  const headers = headersOf(STREAM, token);
  if (lastId !== "") headers.set("last-event-id", lastId);
  const answer = await fetch(`../${STREAM}`, { headers, signal });
  for (const notice of (await countUnread()).toReversed()) tell(notice); // after a 401 this waits for another token
  if (!answer.ok || !answer.body) return;
  const readEvents = createEventReader();
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) for (const event of readEvents(piece)) await take(event);
}

async function take({ id, event, data }: ServerEvent) {
  if (event === "unread") {
    unread.value = JSON.parse(data).unread;
  } else if (event === "notice") {
    tell(JSON.parse(data));
    lastId = id;
    await countUnread();
  }
}

/** Throws what is no trouble of the connection. */
function ignoreUnreachable(error: unknown) {
  if (error instanceof ApiError || error instanceof TypeError || (error instanceof DOMException && ["AbortError", "NetworkError"].includes(error.name))) return;
  throw error;
}

const pause = (signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, PAUSE_MS);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    });
  });
