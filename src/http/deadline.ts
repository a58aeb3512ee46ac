/** Milliseconds that a request may take once its body has arrived. */
const LIMIT = 5_000;

const clocks = new WeakMap<Request, () => void>();

/** Starts the time of a request whose body has just been read. */
export const startClock = (request: Request) => clocks.get(request)?.();

/** Answers 503 in time, whatever the handler waits for: a frozen Postgres never answers at all. */
export function withDeadline(fetch: (request: Request) => Response | Promise<Response>, answerLate: (request: Request) => Response) {
  return async (request: Request) => {
    const answer = fetch(request);
    if (answer instanceof Response) return answer;
    const { promise, resolve } = Promise.withResolvers<Response>();
    let timer: Timer | undefined;
    const start = () => {
      timer ??= setTimeout(() => resolve(answerLate(request)), LIMIT);
    };
    if (request.body) clocks.set(request, start);
    else start();
    try {
      return await Promise.race([answer, promise]);
    } finally {
      clearTimeout(timer);
    }
  };
}
