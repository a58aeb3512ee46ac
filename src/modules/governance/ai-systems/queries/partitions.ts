import type { Pool, Sql } from "#db/connect";

const LOCK = 4_711_002;

type Month = { name: string; from: string; to: string };

/** Makes the partitions of this month and of the next ones, moves samples of these months there, and returns the names of the new ones. */
export async function makePartitions(sql: Pool, now: Date, monthsAhead: number) {
  const months = Array.from({ length: monthsAhead + 1 }, (_, index) => monthAfter(now, index));
  if ((await findMissing(sql, months)).length === 0) return [];
  return sql.begin(async (tx) => {
    await tx`set local lock_timeout = '2s'`; // a long query must not make senders queue up behind us
    await tx`select pg_advisory_xact_lock(${LOCK})`;
    const missing = await findMissing(tx, months);
    for (const month of missing) await makePartition(tx, month);
    return missing.map((each) => each.name);
  });
}

function monthAfter(now: Date, months: number): Month {
  const start = (offset: number) => new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + offset)).toISOString();
  return { name: `metric_samples_${start(months).slice(0, 7).replace("-", "_")}`, from: start(months), to: start(months + 1) };
}

async function findMissing(sql: Sql, months: Month[]) {
  const rows = await sql<{ name: string }[]>`
    select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid where inhparent = 'metric_samples'::regclass`;
  return months.filter(({ name }) => !rows.some((each) => each.name === name));
}

async function makePartition(tx: Sql, { name, from, to }: Month) {
  // A sender who chose the default partition already must be done first: afterwards it no longer takes this month.
  await tx`lock table only metric_samples in share row exclusive mode`;
  await tx`lock table metric_samples_default in access exclusive mode`;
  await tx.unsafe(`create table ${name} (like metric_samples including defaults)`);
  await tx.unsafe(`
    with moved as (delete from metric_samples_default where recorded_at >= '${from}' and recorded_at < '${to}' returning *)
    insert into ${name} select * from moved`);
  await tx.unsafe(`alter table metric_samples attach partition ${name} for values from ('${from}') to ('${to}')`);
}
