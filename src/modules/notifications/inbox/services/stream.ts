import type { Deps } from "#deps";

const BEAT_EVERY_MS = 15_000;
/** The bytes that may wait for a slow client. Beyond them the stream ends, and the client resumes from where it was. */
const MAX_WAITING_BYTES = 4_194_304;

export const STREAM_HEADERS = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

type Listening = { userId: string; lastEventId: string | null; isStillSignedIn: () => Promise<boolean> };

const encoder = new TextEncoder();

/**
 * Server-sent events: a notice each, its position as the id, so that a client that comes back misses nothing; and the number of unread ones
 * when it changes by itself.
 */
export function noticeStream({ feed, log }: Pick<Deps, "feed" | "log">, { userId, lastEventId, isStillSignedIn }: Listening) {
  let stop = () => {};
  let isEnded = false;

  async function start(controller: ReadableStreamDefaultController<Uint8Array>) {
    function end() {
      if (isEnded) return;
      isEnded = true;
      stop();
      controller.close();
    }
    function send(text: string) {
      if (isEnded) return;
      controller.enqueue(encoder.encode(text));
      if ((controller.desiredSize ?? 0) <= 0) end();
    }
    const beat = setInterval(async () => {
      if (await isStillSignedIn().catch(() => true)) send(": still here\n\n");
      else end();
    }, BEAT_EVERY_MS);
    stop = () => clearInterval(beat);
    const leave = await feed.listen({
      userId,
      position: lastEventId && /^\d{1,9}$/.test(lastEventId) ? Number(lastEventId) : undefined,
      end,
      send: (id, json) => send(`id: ${id}\nevent: notice\ndata: ${json}\n\n`),
      sendUnread: (unread) => send(`event: unread\ndata: {"unread":${unread}}\n\n`),
    });
    stop = () => {
      clearInterval(beat);
      leave();
    };
    if (isEnded) return stop();
    send("retry: 2000\n\n"); // not before it listens: from what a client reads on, it misses nothing
  }

  function cancel() {
    isEnded = true;
    stop();
    log.debug({ user: userId }, "notification stream closed");
  }

  const strategy = new ByteLengthQueuingStrategy({ highWaterMark: MAX_WAITING_BYTES });
  return new Response(new ReadableStream({ start, cancel }, strategy), { headers: STREAM_HEADERS });
}
