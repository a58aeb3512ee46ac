import { RefusedError, unwrap } from "./answers.js";
import { pause } from "./retry.js";

type Events = AsyncIterable<{ id?: unknown; data?: unknown; retry?: number }>;
type Stream = (...options: never[]) => Promise<{ data: Events | null; error: unknown }>;
type Told<Of extends Stream> = NonNullable<Awaited<ReturnType<Of>>["data"]> extends AsyncIterable<{ data?: infer Each }> ? Exclude<Each, undefined> : never;

type Options = { headers?: object; fetch?: { signal?: AbortSignal | null } };
type Open = (options: Options) => ReturnType<Stream>;

/** Where a stream goes on, and after how many milliseconds; the server may say otherwise. */
const START = { position: {}, pauseMs: 2_000, wasReached: false };

/**
 * Yields what a stream tells until the loop is left: when it ends, or its connection is lost, it is followed again from the last event on.
 * Throws as `unwrap`; once it was reached, no failure of the server or the network, but the reason of an aborted signal.
 */
export async function* events<Of extends Stream>(stream: Of, ...[options]: Parameters<Of>): AsyncGenerator<Told<Of>, void, undefined> {
  const given: Options = options ?? {};
  const ending = new AbortController();
  const signal = given.fetch?.signal ? AbortSignal.any([given.fetch.signal, ending.signal]) : ending.signal;
  const place = { ...START };
  try {
    for (;;) {
      try {
        yield* follow(stream as unknown as Open, { ...given, fetch: { ...given.fetch, signal } }, place) as AsyncIterable<Told<Of>>;
      } catch (error) {
        if (!place.wasReached || (error instanceof RefusedError && error.status < 500)) throw error;
      }
      await pause(place.pauseMs, signal);
    }
  } finally {
    ending.abort();
  }
}

async function* follow(open: Open, options: Options, place: typeof START) {
  const told = (await unwrap(open({ ...options, headers: { ...options.headers, ...place.position } }))) as Events;
  place.wasReached = true;
  for await (const { id, data, retry } of told) {
    if (retry !== undefined) place.pauseMs = retry;
    if (id !== undefined) place.position = { "last-event-id": String(id) };
    if (data !== undefined) yield data;
  }
}
