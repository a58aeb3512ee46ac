import { parseArgs } from "node:util";
import { world } from "../support/server/world";
import { startServers } from "./servers";
import { simulateYear } from "./year";

const HELP = `bun run simulate:expiry [--seed 1] [--certificates 2000] [--days 400]

A year in minutes: a clock that jumps hour by hour, two servers that watch and dispatch at once, outages of 1 to 90 hours, and certificates
of a day to 398 days that are renewed in time or late, revoked, retired and given to others, while members acknowledge and snooze. What
each member hears is compared with what was worked out apart from the server, and what a mail server took that fails one attempt in five with
what each inbox has. TEST_DATABASE_URL names the Postgres.`;

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    certificates: { type: "string", default: "2000" },
    days: { type: "string", default: "400" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.info(HELP);
else process.exitCode = await simulate();
await world.stop();

async function simulate() {
  const startedAt = performance.now();
  const [seed, certificates, days] = [values.seed, values.certificates, values.days].map(Number) as [number, number, number];
  const servers = await startServers(seed);
  const { counts, received, mail, differences, needless } = await simulateYear({ seed, certificates, days, servers, notify: console.info });
  await servers.stop();
  console.info({ seed, days, ...counts, received, mail });
  for (const each of differences.slice(0, 20)) console.info(each);
  const faults = differences.length + needless + mail.unsent;
  console.info(
    `${differences.length} differences, ${needless} needless notices, ${mail.unsent} mails not sent, in ${((performance.now() - startedAt) / 1_000).toFixed(0)} s`,
  );
  return faults > 0 ? 1 : 0;
}
