import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { inDatabase } from "./database";
import { seedIssuance } from "./issuance-seed";
import { seedNotifications } from "./notifications-seed";
import { measurePlans } from "./plan";
import { issuanceQueries } from "./queries-of-issuance";
import { notificationQueries } from "./queries-of-notifications";

const HELP = `bun run bench:queries [--quick]

What does each query of issuance and of notifications cost, with 1,000,000 certificates that issuers look after, and 1,000,000 events, notices
and deliveries? Prints for each the time in Postgres, the most rows that a step of its plan read, the pages, and by which indexes; what
reads a table whole says so. Needs a Postgres: TEST_DATABASE_URL, or the local one. It makes a database of its own there and drops it.

  --quick   50,000 of each
  --only=…  queries whose title has this`;

const ALL = Bun.argv.includes("--quick") ? 50_000 : 1_000_000;
const ONLY = Bun.argv.find((each) => each.startsWith("--only="))?.slice("--only=".length) ?? "";

export type Query = readonly [title: string, work: (sql: Pool) => Promise<unknown>];

if (Bun.argv.includes("--help")) console.info(HELP);
else
  await inDatabase("queries", async ({ url }) => {
    await seedIssuance(url, [ALL * 0.8, ALL * 0.15, ALL * 0.05]);
    await seedNotifications(url, ALL);
    await bench(url);
  });

async function bench(url: string) {
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const queries = [...(await issuanceQueries(sql)), ...(await notificationQueries(sql))];
  await sql.end();
  for (const [title, work] of queries.filter(([title]) => title.includes(ONLY))) {
    const { ms, rows, pages, reads } = await measurePlans(url, work);
    console.info(
      `${title.padEnd(70)} ${ms.toFixed(2).padStart(8)} ms ${String(rows).padStart(8)} rows ${String(pages).padStart(8)} pages  ${reads.join(", ")}`,
    );
  }
}
