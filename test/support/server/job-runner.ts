import { createApp } from "#app";
import type { Config } from "#config";
import type { Db } from "#db/connect";
import { createDeps } from "#deps";
import type { Job } from "#jobs/job";
import { createQueue } from "#jobs/queue";
import { prepareJobs, repeatJobs, runQueuedJobs } from "#jobs/start";
import { JOBS } from "#jobs/table";
import { createLog } from "#log/log";

const TURN_MS = 50;

/** As a server runs it, but sooner. */
const quicken = (job: Job): Job => ("everyMs" in job ? { ...job, everyMs: TURN_MS } : job);

/** Prepares to run these jobs as a server does, without the seconds it waits between its looks at what is due. */
export async function createRunner({ config, db }: { config: Config; db: Db }, names: string[]) {
  const log = createLog("silent");
  const queue = createQueue({ sql: db.$client, log, supervisionSeconds: 1 });
  const deps = { ...createDeps({ config, db, log }), queue };
  const app = createApp(deps);
  const jobs = JOBS.filter(({ name }) => names.includes(name)).map(quicken);
  await prepareJobs(deps);

  /** Begins. Returns a function that ends it. */
  async function run() {
    await runQueuedJobs(deps, app.handle, jobs);
    const stop = repeatJobs(deps, jobs);
    const looking = setInterval(() => {
      for (const name of names) queue.wake(name);
    }, TURN_MS);
    return async () => {
      clearInterval(looking);
      await stop();
      await queue.stop();
      deps.mail?.close();
    };
  }
  return { run };
}
