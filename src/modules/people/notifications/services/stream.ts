import type { Deps } from "#deps";

const BEAT_EVERY = 15_000;

export const STREAM_HEADERS = { "content-type": "text/event-stream", "x-accel-buffering": "no" };

type Listening = { userId: string; lastEventId: string | null; isStillSignedIn: () => Promise<boolean> };

/** Server-sent events: a notice each, its position as the id, so that a client that comes back misses nothing. */
export function noticeStream({ feed, log }: Pick<Deps, "feed" | "log">, { userId, lastEventId, isStillSignedIn }: Listening) {
  let stop = () => {};
  let isCancelled = false;
  const stream = new ReadableStream<string>({
    async start(controller) {
      const end = () => {
        stop();
        controller.close();
      };
      const beat = setInterval(async () => {
        if (await isStillSignedIn().catch(() => true)) controller.enqueue(": still here\n\n");
        else end();
      }, BEAT_EVERY);
      stop = () => clearInterval(beat);
      const position = lastEventId && /^\d{1,9}$/.test(lastEventId) ? Number(lastEventId) : undefined;
      const leave = await feed.listen({ userId, position, end, send: (id, json) => controller.enqueue(`id: ${id}\nevent: notice\ndata: ${json}\n\n`) });
      stop = () => {
        clearInterval(beat);
        leave();
      };
      if (isCancelled) return stop();
      controller.enqueue("retry: 2000\n\n"); // not before it listens: from what a client reads on, it misses nothing
    },
    cancel() {
      isCancelled = true;
      stop();
      log.debug({ user: userId }, "notification stream closed");
    },
  });
  return new Response(stream.pipeThrough(new TextEncoderStream()), { headers: STREAM_HEADERS });
}
