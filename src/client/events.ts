import { RefusedError, unwrap } from "./answers.js";
import { pause } from "./retry.js";

type ServerEvent = { id?: unknown; event?: unknown; data?: unknown; retry?: number };
type Stream = (...options: never[]) => Promise<{ data: AsyncIterable<ServerEvent> | null; error: unknown }>;
type Message<Of extends Stream> = NonNullable<Awaited<ReturnType<Of>>["data"]> extends AsyncIterable<{ data?: infer Each }> ? Exclude<Each, undefined> : never;

type Options = { headers?: object; fetch?: { signal?: AbortSignal | null } };
type Open<Event extends ServerEvent> = (options: Options) => Promise<{ data: AsyncIterable<Event> | null; error: unknown }>;

/** Returns the place from which a stream is followed first: after no event, and with a pause in milliseconds that the server may change. */
export const startOfStream = () => ({ position: {}, pauseMs: 2_000, wasReached: false });

/**
 * Yields the messages of a stream until the loop is left, and follows it again after its end or a lost connection. Throws as
 * `unwrap` until it was reached, then only the reason of an aborted signal.
 */
export async function* events<Of extends Stream>(stream: Of, ...[options]: Parameters<Of>): AsyncGenerator<Message<Of>, void, undefined> {
  const given: Options = options ?? {};
  const ending = new AbortController();
  const signal = given.fetch?.signal ? AbortSignal.any([given.fetch.signal, ending.signal]) : ending.signal;
  const place = startOfStream();
  try {
    for (;;) {
      try {
        yield* messagesOf(stream as unknown as Open<{ data?: Message<Of> }>, { ...given, fetch: { ...given.fetch, signal } }, place);
      } catch (error) {
        if (!place.wasReached || (error instanceof RefusedError && error.status < 500)) throw error;
      }
      await pause(place.pauseMs, signal);
    }
  } finally {
    ending.abort();
  }
}

type StreamPosition = ReturnType<typeof startOfStream>;

async function* messagesOf<Data>(open: Open<{ data?: Data }>, options: Options, place: StreamPosition) {
  const stream = await unwrap(open({ ...options, headers: { ...options.headers, ...place.position } }));
  for await (const { data } of keepPlace(stream, place)) if (data !== undefined) yield data;
}

/** Yields the events of a stream that was opened, and keeps the place from which it goes on. */
export async function* keepPlace<Event extends ServerEvent>(stream: AsyncIterable<Event>, place: StreamPosition) {
  place.wasReached = true;
  for await (const event of stream) {
    if (event.retry !== undefined) place.pauseMs = event.retry;
    if (event.id !== undefined && event.id !== "") place.position = { "last-event-id": String(event.id) };
    yield event;
  }
}
