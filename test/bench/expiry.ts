import { connectDatabase, MAINTENANCE, type Pool } from "#db/connect";
import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { inDatabase, type Workplace } from "./database";
import { seed } from "./seed";

const HELP = `bun run bench:expiry [--quick]

What does the watch of expiry cost with 1,000,000 certificates in one organization? A look that finds nothing, the look at all
of them after an upgrade or another policy, and the looks of a year, a day after the other, next to the bare statements that
move as many rows. Needs a Postgres on this machine: TEST_DATABASE_URL, or the local one. It makes a database of its own there
and drops it.

  --quick   50,000 certificates`;

const CERTIFICATES = Bun.argv.includes("--quick") ? 50_000 : 1_000_000;
const DAY = 86_400_000;

if (Bun.argv.includes("--help")) console.info(HELP);
else await inDatabase("expiry", bench);

async function bench({ url }: Workplace) {
  await seed(url, [CERTIFICATES]);
  const sql = connectDatabase(url, MAINTENANCE).$client;
  const look = (days: number) => watchExpiry({ sql, clock: () => new Date(Date.now() + days * DAY) }, new AbortController().signal);
  await review(sql);
  await look(-10_000); // before the first threshold of any
  await sql`update expiry_watch set names_hash = md5(certificate_id::text)::uuid`; // the seed gives all the same names
  await sql`vacuum (full, analyze) expiry_watch`;
  const bare = await measure(
    sql,
    "bare: every row of the watch moved once",
    async () => void (await sql`update expiry_watch set due_at = now() + interval '1 year'`),
  );
  await review(sql);
  await sql`vacuum (full, analyze) expiry_watch`;
  const whole = await measure(sql, "all of them, after an upgrade or another policy", () => look(0));
  console.info(`${"… / bare".padEnd(60)}${(whole / bare).toFixed(2)}`);
  await sql`vacuum (analyze) expiry_watch, expiry_reminders`;
  await measure(sql, "nothing is due", () => look(0));
  for (const day of [1, 2, 3, 30, 60, 365]) await measure(sql, `what is due within day ${day}`, () => look(day));
  await sql.end();
}

async function review(sql: Pool) {
  await sql`insert into expiry_reviews select id, '00000000-0000-0000-0000-000000000000' from organizations`;
}

/** Returns the milliseconds, and prints them with how many reminders there are more. */
async function measure(sql: Pool, title: string, work: () => Promise<void>) {
  const received = async () => (await sql<{ count: number }[]>`select count(*)::int as count from expiry_reminders`)[0]?.count ?? 0;
  const before = await received();
  const startedAt = performance.now();
  await work();
  const took = performance.now() - startedAt;
  console.info(`${title.padEnd(60)}${took.toFixed(1).padStart(10)} ms${`${(await received()) - before}`.padStart(10)} told`);
  return took;
}
