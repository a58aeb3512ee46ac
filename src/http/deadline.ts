type Deadline = { at: number; start: () => void; giveUp: () => void };

/** Deadlines that have not started: the body of the request is still arriving. */
const arriving = new WeakMap<Request, Deadline>();

/** Starts the deadline of a request, once its body is read. */
export function startClock(request: Request) {
  arriving.get(request)?.start();
  arriving.delete(request);
}

/** The deadlines of a server: a request may take `limit` milliseconds once its body has arrived. */
export function createDeadlines(limit: number) {
  /** Those that have started, in the order in which they end. Every request has the same time, so one timer serves all. */
  const running = new Set<Deadline>();
  let isWatched = false;

  function start(deadline: Deadline) {
    deadline.at = performance.now() + limit;
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
  return function answerInTime(request: Request, answer: Promise<Response>, answerLate: () => Response) {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    const deadline: Deadline = { at: 0, start: () => start(deadline), giveUp: () => resolve(answerLate()) };
    const end = () => {
      arriving.delete(request);
      running.delete(deadline);
    };
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
    if (mayHaveBody(request)) arriving.set(request, deadline);
    else start(deadline);
    return promise;
  };
}

const mayHaveBody = ({ method, headers }: Request) =>
  method !== "GET" && method !== "HEAD" && (headers.has("content-length") || headers.has("transfer-encoding"));
