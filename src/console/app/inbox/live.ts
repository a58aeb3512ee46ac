import { computed, effect, signal, untracked } from "@preact/signals";
import { keepPlace, startOfStream } from "#client/events";
import { pause } from "#client/retry";
import { address, headersOf, read } from "../api";
import { isPerson, isRefused, session } from "../auth/session";
import { ApiError } from "../errors";
import { createEventReader } from "../server-events";
import { unread } from "../title";
import type { Notice } from "./types";

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

/** From here the stream goes on; the place belongs to one token. */
let place = startOfStream();
follower.subscribe(() => {
  place = startOfStream();
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
  const inbox = await read(address("users", "me", "notifications", "inbox"), { limit: CAUGHT_UP });
  unread.value = inbox.unread;
  return inbox.items;
}

const publish = (notice: Notice) => {
  for (const listener of listeners) listener(notice);
};

/** Follows the stream until `signal` is aborted, again from where it was whenever it ends. */
async function follow(token: string, signal: AbortSignal) {
  while (!signal.aborted) {
    // Without an error for each attempt of a console that is offline: the next one comes soon.
    await followOnce(token, signal).catch(ignoreUnreachable);
    await pause(place.pauseMs, signal).catch(ignoreUnreachable);
  }
}

async function followOnce(token: string, signal: AbortSignal) {
  const answer = await fetch(`../${STREAM}`, { headers: { ...headersOf(STREAM, token), ...place.position }, signal });
  for (const notice of (await countUnread()).toReversed()) publish(notice); // after a 401 this waits for another token
  for await (const { event, data } of keepPlace(readEvents(answer), place)) await take(event, data);
}

async function* readEvents({ ok, body }: Response) {
  if (!ok || !body) return;
  const read = createEventReader();
  for await (const piece of body.pipeThrough(new TextDecoderStream())) yield* read(piece);
}

async function take(event: string, data: string) {
  if (event === "unread") {
    unread.value = JSON.parse(data).unread;
  } else if (event === "notice") {
    publish(JSON.parse(data));
    await countUnread();
  }
}

/** Throws all but troubles of the connection. */
function ignoreUnreachable(error: unknown) {
  if (error instanceof ApiError || error instanceof TypeError || (error instanceof DOMException && ["AbortError", "NetworkError"].includes(error.name))) return;
  throw error;
}
