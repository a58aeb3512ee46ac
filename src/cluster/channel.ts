/** A message from one worker to another (`to`), or to all others. */
export type Message = { topic: string; data?: unknown; to?: number | undefined; from?: number };

/** The workers of `serve --workers`, as one of them sees the others. */
export type Cluster = {
  /** The number of this worker, from 1; undefined where the server is one process. */
  worker: number | undefined;
  workers: number;
  /** The only process or the first worker: it does what one process of each server does. */
  isFirst: boolean;
  /** The first process runs the jobs, but with `serve --no-jobs`. */
  runsJobs: boolean;
  publish: (topic: string, data: unknown) => void;
  subscribe: <Data>(topic: string, handle: (data: Data) => void) => void;
  /** Returns what the other workers answer; one that is silent for a second is left out. Rejects where one fails to answer. */
  ask: <Answer>(topic: string) => Promise<Answer[]>;
  answer: (topic: string, make: () => Promise<unknown>) => void;
};

type Answered = { value: unknown } | { fault: string };

const ANSWER_TIMEOUT_MS = 1_000;

/** The server is one process. */
export const ALONE: Cluster = { worker: undefined, workers: 1, isFirst: true, runsJobs: true, publish() {}, subscribe() {}, ask: async () => [], answer() {} };

type Transport = { send: (message: Message) => void; onMessage: (receive: (message: Message) => void) => void };

type WorkerRole = { worker: number; workers: number; jobs: boolean };

/** Connects this worker to the others. The primary passes their messages on. */
export function joinCluster({ worker, workers, jobs }: WorkerRole, { send, onMessage }: Transport): Cluster {
  const handlers = new Map<string, (data: never, from: number) => void>();
  onMessage(({ topic, data, from = 0 }) => handlers.get(topic)?.(data as never, from));

  async function ask<Answer>(topic: string) {
    const answers: Answer[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const id = crypto.randomUUID();
    handlers.set(id, (answered: Answered) => {
      if ("fault" in answered) reject(new Error(answered.fault));
      else if (answers.push(answered.value as Answer) === workers - 1) resolve();
    });
    send({ topic, data: id });
    await Promise.race([promise, Bun.sleep(ANSWER_TIMEOUT_MS)]).finally(() => handlers.delete(id));
    return answers;
  }

  function answer(topic: string, make: () => Promise<unknown>) {
    handlers.set(topic, async (id: string, to) => {
      const answered: Answered = await make().then(
        (value) => ({ value }),
        (error: Error) => ({ fault: error.message }),
      );
      send({ topic: id, data: answered, to });
    });
  }

  return {
    worker,
    workers,
    isFirst: worker === 1,
    runsJobs: jobs && worker === 1,
    publish: (topic, data) => send({ topic, data }),
    subscribe: (topic, handle) => void handlers.set(topic, handle),
    ask,
    answer,
  };
}
