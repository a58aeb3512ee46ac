import { readConfig } from "#config";
import { reachDatabase } from "#db/open";
import { createDeps } from "#deps";
import { prepareJobs, repeatJobs } from "#jobs/start";
import { createLog } from "#log/log";

// A process that runs the repeated jobs as so many servers do, each with a small pool of its own, until its input ends.

const CONNECTIONS = 4;

const config = readConfig(Bun.env);
const log = createLog("error");
const stops: (() => Promise<void>)[] = [];
for (let n = 0; n < Number(process.argv[2]); n++) {
  const { db } = await reachDatabase(config, log, { max: CONNECTIONS });
  const deps = createDeps({ config, db, log });
  await prepareJobs(deps);
  stops.push(repeatJobs(deps));
}
console.info("ready");
for await (const _ of console);
await Promise.all(stops.map((stop) => stop()));
process.exit();
