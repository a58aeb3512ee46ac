type Deadline = { at: number; pause: () => void; resume: () => void; giveUp: () => void };

/** The deadlines of requests whose body may still arrive. */
const arriving = new WeakMap<Request, Deadline>();

/** Returns what `read` reads of a request's body. The time for which it arrives is the caller's: it counts towards no deadline. */
export async function whileArriving<Body>(request: Request, read: () => Promise<Body>) {
  const deadline = arriving.get(request);
  deadline?.pause();
  try {
    return await read();
  } finally {
    deadline?.resume();
  }
}

/**
 * The deadlines of a server: a request may take `limit` milliseconds from the moment its head is there, and as long as its body
 * takes to arrive.
 */
export function createDeadlines(limit: number) {
  /** In the order in which they end. Every request has the same time, so one timer serves all. */
  const running = new Set<Deadline>();
  let isWatched = false;

  function start(deadline: Deadline) {
    running.add(deadline);
    if (!isWatched) setTimeout(endLate, limit);
    isWatched = true;
  }

  function endLate() {
    for (const deadline of running) {
      const left = deadline.at - performance.now();
      if (left > 0) return setTimeout(endLate, left);
      running.delete(deadline);
      deadline.giveUp();
    }
    isWatched = false;
  }

  /** Returns the answer, or what `answerLate` says in time, whatever the handler waits for: a frozen Postgres never answers at all. */
  return function answerInTime(request: Request, handle: () => Response | Promise<Response>, answerLate: () => Response) {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const giveUp = () => resolve(answerLate());
    let left = 0;
    let timer: Timer | undefined;
    const deadline: Deadline = {
      at: performance.now() + limit,
      giveUp,
      pause() {
        running.delete(deadline);
        left = Math.max(0, deadline.at - performance.now());
      },
      /** One that was paused has a timer of its own: what is left of it is not what is left of others. */
      resume() {
        timer = setTimeout(giveUp, left);
      },
    };
    const end = () => {
      running.delete(deadline);
      clearTimeout(timer);
    };
    start(deadline);
    if (mayHaveBody(request)) arriving.set(request, deadline);
    const answer = handle();
    if (answer instanceof Response) {
      end();
      return answer;
    }
    answer.then(
      (response) => {
        end();
        resolve(response);
      },
      (error) => {
        end();
        reject(error);
      },
    );
    return promise;
  };
}

const mayHaveBody = ({ method, headers }: Request) =>
  method !== "GET" && method !== "HEAD" && (headers.has("content-length") || headers.has("transfer-encoding"));
