import { isDeepStrictEqual } from "node:util";
import { type Argv, argvOf } from "../host/arguments";

/** A program that reads what many assignments have written, so that one run is enough for all of them. */
export type Rebuild = {
  argv: Argv;
  /** The command that makes all of it afresh; it runs where some wait for the one and some for the other. */
  rerun: Argv;
  /** The program's standard input, combined from all waiting tasks. */
  input?: string;
};

/** Waits until the program has run; rejects where it failed. */
export type AwaitRebuild = (rebuild: Rebuild) => Promise<unknown>;

type Task<Outcome> = () => Promise<Outcome>;
type Waiting = { rebuild: Rebuild; task: number; resolve: () => void; reject: (error: Error) => void };

/**
 * Runs tasks one after the other, until one fails. A task that waits for a rebuild lets the next begin; the program then runs
 * once for all that wait.
 */
export async function takeTurns<Outcome>(tasksOf: (awaitRebuild: AwaitRebuild) => Task<Outcome>[], run: AwaitRebuild): Promise<Outcome[]> {
  const running: Promise<Outcome>[] = [];
  let waiting: Waiting[] = [];
  let current = 0;
  let pause = Promise.withResolvers<void>();

  function awaitRebuild(rebuild: Rebuild) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    waiting.push({ rebuild, task: current, resolve, reject });
    pause.resolve();
    return promise;
  }

  /** Lets a task go on until it ends or waits. */
  async function letRun(task: number, go: () => unknown) {
    current = task;
    pause = Promise.withResolvers();
    go();
    await Promise.race([running[task], pause.promise]);
  }

  for (const [index, task] of tasksOf(awaitRebuild).entries())
    await letRun(index, () => {
      running[index] = task();
    });
  for (let [next] = waiting; next; [next] = waiting) {
    const { rerun } = next.rebuild;
    const { same = [], rest = [] } = Object.groupBy(waiting, ({ rebuild }) => (isDeepStrictEqual(rebuild.rerun, rerun) ? "same" : "rest"));
    waiting = rest;
    const failure = await run(merge(same.map(({ rebuild }) => rebuild))).then(
      () => undefined,
      (error: Error) => error,
    );
    for (const { task, resolve, reject } of same) await letRun(task, () => (failure ? reject(failure) : resolve()));
  }
  return Promise.all(running);
}

function merge(rebuilds: Rebuild[]): Rebuild {
  const [{ argv, rerun } = { argv: argvOf(), rerun: argvOf() }] = rebuilds;
  const inputs = rebuilds.flatMap(({ input }) => input ?? []);
  const isOne = rebuilds.every((each) => isDeepStrictEqual(each.argv, argv));
  return { argv: isOne ? argv : rerun, rerun, ...(inputs.length > 0 && { input: inputs.join("") }) };
}
