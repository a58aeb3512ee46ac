import { join } from "node:path";
import postgres from "postgres";
import { createMeter } from "./cpu";
import { inDatabase, type Workplace } from "./database";
import { afterFiveMinutes, assertUnchanged, capturePoll, inPgbench, learnTags, overHttp, SIGNED } from "./fleet-poll";
import { POLICIES, seedFleet, seedPolicies } from "./fleet-seed";
import { compare, median, ratio } from "./measure";
import { pidOf, start, startCertitude } from "./processes";
import { explain } from "./statement";

const HELP = `bun run bench:fleet [--quick]

What does a fleet cost while there is no news? 50,000 agents with three assignments each ask what they must install, with
the tag that they know: how many such polls a second, next to their one SQL statement in pgbench and behind a bare
Bun.serve handler, and what part of one core the fleet takes when each agent asks once a minute. "signed" are the same
polls by agents that ask for a signed answer. All of it twice: without assignment policies, and with twenty that made every
third assignment.
Needs wrk, pgbench and a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own
there and drops it at the end. Callers, servers and Postgres share this machine's cores, so read the ratios.

  --quick   5,000 agents, in under two minutes`;

const FLEET = 50_000;
const CALLERS = 16;
const plan = Bun.argv.includes("--quick") ? { agents: 5_000, rounds: 2, seconds: 1 } : { agents: FLEET, rounds: 7, seconds: 2 };

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("fleet", bench);

async function bench({ url, directory }: Workplace) {
  await seedFleet(url, plan.agents);
  const sql = postgres(url, { max: 1 });
  const server = await startCertitude({ DATABASE_URL: url });
  const bare = await start((port) => ({ command: [process.execPath, join(import.meta.dir, "fleet-bare.ts"), `${port}`, url] }));
  const newMeter = () => createMeter(sql, { pid: pidOf(server), application: "certitude" }, plan.seconds);

  async function race(fleet: string) {
    const known = join(directory, "known");
    await Bun.write(known, await learnTags(server, plan.agents));
    const [meter, signing] = [newMeter(), newMeter()];
    const contestants = {
      server: afterFiveMinutes(sql, meter.measured(await overHttp(server, known, plan.seconds))),
      signed: afterFiveMinutes(sql, signing.measured(await overHttp(server, known, plan.seconds, SIGNED))),
      bare: afterFiveMinutes(sql, await overHttp(bare, known, plan.seconds)),
      pgbench: afterFiveMinutes(sql, inPgbench(url, plan.agents, join(directory, "poll.sql"), plan.seconds)),
    };
    console.info(`${fleet}: ${count(plan.agents)} agents, ${CALLERS} callers, medians of ${plan.rounds} rounds of ${plan.seconds} s, contestants in turn\n`);
    printRates(await compare(contestants, CALLERS, plan.rounds));
    printShares(meter.perRequest());
    printShares(signing.perRequest(), ", and ask for a signature");
    await printPlan(url);
  }

  await race("no policies");
  await seedPolicies(url);
  await race(`\n${POLICIES} policies, which made a third of the assignments`);
  await assertUnchanged(server, 2 * plan.agents);
  await sql.end();
}

function printRates(rates: Record<"server" | "signed" | "bare" | "pgbench", number[]>) {
  printRow("", "polls/s", "server/this");
  for (const [name, each] of Object.entries(rates)) printRow(name, count(median(each)), ratio(rates.server, each).toFixed(2));
}

function printShares(perPoll: Record<"server" | "Postgres", number>, how = "") {
  console.info(`\n${count(FLEET)} agents that poll once a minute${how}, ${count(FLEET / 60)} polls/s\n`);
  printRow("", "CPU µs/poll", "of one core");
  for (const [name, seconds] of Object.entries(perPoll)) printRow(name, count(seconds * 1e6), `${((seconds * FLEET * 100) / 60).toFixed(1)} %`);
}

async function printPlan(url: string) {
  const explained = await explain(url, await capturePoll(url));
  console.info(`\n${explained}`);
  if (/(Seq|Bitmap \w+) Scan/.test(explained)) throw new Error("a poll looks through more than indexes");
}

function count(number: number) {
  return Math.round(number).toLocaleString("en");
}

function printRow(...cells: string[]) {
  console.info(cells.map((cell) => cell.padStart(15)).join(""));
}
