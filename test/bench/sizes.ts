import { listExpiring } from "#modules/certificates/certificates/queries/certificates";
import { findDetailsForMember } from "#modules/certificates/certificates/queries/details";
import { inDatabase, type Workplace } from "./database";
import { compare, http, median } from "./measure";
import { startCertitude } from "./processes";
import { type Organization, seed, USER } from "./seed";
import { capture, explain } from "./statement";

const HELP = `bun run bench:sizes [--quick]

Does operation 17 (top expiring) stay as fast in an organization with many certificates, and what does Postgres do for it and for
operation 16 (certificate details)? Needs wrk and a Postgres: TEST_DATABASE_URL, or the local one. It makes a database of its own
there and drops it at the end. Callers, server and Postgres share this machine's cores, so read the ratio.

  --quick   50,000 certificates instead of a million, in under a minute`;

const plan = Bun.argv.includes("--quick")
  ? { sizes: [50_000, 10_000, 1_000], others: 50, rounds: 3, seconds: 1, warmUp: 3 }
  : { sizes: [1_000_000, 100_000, 1_000], others: 500, rounds: 3, seconds: 2, warmUp: 10 };
const ORGANIZATIONS = 200;
const CALLERS = 16;

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("sizes", bench);

async function bench({ url }: Workplace) {
  const others = Array.from({ length: ORGANIZATIONS - plan.sizes.length }, () => plan.others);
  const measured = (await seed(url, [...plan.sizes, ...others])).slice(0, plan.sizes.length);
  const server = await startCertitude({ DATABASE_URL: url });
  const contestants = (seconds: number) => Object.fromEntries(measured.map((each) => [count(each.size), expiring(server, each, seconds)]));
  await compare(contestants(plan.warmUp), CALLERS, 1); // the compiler of hot code needs seconds of load
  const rates = Object.entries(await compare(contestants(plan.seconds), CALLERS, plan.rounds)).map(([size, each]) => ({ size, rate: median(each) }));
  const all = rates.map((each) => each.rate);
  const list = rates.map(({ size, rate }) => `${size}: ${count(rate)} req/s`).join(", ");
  console.info(
    `operation 17 by certificates in the organization: ${list}; fastest/slowest ${(Math.max(...all) / Math.min(...all)).toFixed(2)} (flat is under 1.3)`,
  );

  const [, { id, certificateId } = { id: "", certificateId: "" }] = measured;
  const statements = {
    17: await capture(url, (sql) => listExpiring(sql, id, 10, new Date())),
    16: await capture(url, (sql) => findDetailsForMember(sql, id, certificateId, { userId: USER }, new Date())),
  };
  for (const [operation, statement] of Object.entries(statements)) console.info(`\noperation ${operation}: ${await explain(url, statement)}`);
}

function expiring(server: string, { id }: Organization, seconds: number) {
  return http(`${server}/organizations/${id}/certs/monitoring/top-expiring`, { "x-organization-id": id, "x-organization-role": "ORG_MEMBER" }, seconds);
}

function count(number: number) {
  return Math.round(number).toLocaleString("en");
}
