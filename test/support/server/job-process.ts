import { readConfig } from "#config";
import { reachDatabase } from "#db/open";
import { createLog } from "#log/log";
import { createRunner } from "./job-runner";

// A process that runs the jobs of its arguments as a server does, once it is told to: `crash.ts` starts and kills it.

const config = readConfig(Bun.env as Record<string, string>);
const { db } = await reachDatabase(config, createLog("silent"), { max: 4 });
const runner = await createRunner({ config, db }, process.argv.slice(2));
console.info("ready");
for await (const _ of console) break;
await runner.run();
