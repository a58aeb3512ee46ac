import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { parseArgs } from "node:util";
import { createRandom } from "./random";
import { executable, FROM_SOURCES } from "./renewals/certitude";
import { SHORT } from "./renewals/short";
import { type Settings, simulateRenewals } from "./renewals/simulate";

const HELP = `bun run simulate [--short] [--minutes 30] [--seed 1] [--program dist/certitude] [--timeline dist/timeline.svg]

A year in half an hour: certificates of five minutes for 100 names, behind nginx, HAProxy, Postgres and Java, by agents that make their keys
where they are used; issued by Certitude's own authority and by Pebble. Each name is asked for its certificate every second by a TLS handshake,
while the server is killed ten times, the CA is away for a minute three times, a disk fills and a clock jumps. No handshake may show a
certificate that has expired or is another's, no private key may leave its host, nothing may be ordered twice. As root, because servers have
accounts of their own; a database of its own is started. --program names the executable, in place of the
sources, which take longer to start. Exit code 1 where anything was wrong.`;

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    minutes: { type: "string", default: "30" },
    seed: { type: "string", default: "1" },
    program: { type: "string" },
    timeline: { type: "string", default: "dist/timeline.svg" },
    help: { type: "boolean", default: false },
  },
});

const program = values.program === undefined ? FROM_SOURCES : executable(values.program);

/** Ten kills at any time, and the rest at times of their own. */
function newLong(seconds: number, seed: number): Settings {
  const random = createRandom(seed);
  const kills = Array.from({ length: 10 }, (_, index) => ((index + random.next()) * (seconds - 120)) / 10 + 60);
  const outages = [0.2, 0.5, 0.8].map((share) => ({ at: share * seconds, seconds: 60 }));
  return {
    seed,
    program,
    names: { nginx: 44, haproxy: 44, postgres: 8, java: 4 },
    lifetimeSeconds: 300,
    intervalSeconds: 3,
    spreadSeconds: 150,
    seconds,
    disruptions: { kills, outages, fullDisk: { at: 0.35 * seconds, seconds: 45 }, clock: { at: 0.65 * seconds, seconds: 120, ahead: 172_800 } },
  };
}

async function simulate() {
  const began = performance.now();
  const settings = values.short ? { ...SHORT, program } : newLong(Number(values.minutes) * 60, Number(values.seed));
  const { counts, faults, reasons, svg } = await simulateRenewals(settings, console.info);
  mkdirSync(dirname(values.timeline), { recursive: true });
  await Bun.write(values.timeline, svg);
  for (const each of reasons) console.info(`a request failed: ${each}`);
  console.info(counts);
  console.info(`${faults.length} faults in ${((performance.now() - began) / 60_000).toFixed(1)} minutes; the timeline is ${values.timeline}`);
  return faults.length > 0 ? 1 : 0;
}

if (values.help) console.info(HELP);
else process.exit(await simulate());
