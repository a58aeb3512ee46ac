import { expect, setDefaultTimeout, test } from "bun:test";
import { connectDatabase } from "#db/connect";
import { startPostgres } from "../support/server/postgres";

setDefaultTimeout(120_000);

/** How many statements the driver sends on one connection before the first is answered. */
const PIPELINE = 100;

test("a transaction is done behind as many statements on one connection as there may be, and so is each of them", async () => {
  const postgres = await startPostgres();
  const { $client: sql } = connectDatabase(postgres.url, { max: 1 });
  const ask = async (number: number) => (await sql`select ${number}::int as number`)[0]?.number;
  const change = (number: number) => sql.begin(async (tx) => (await tx`select ${number}::int as number`)[0]?.number);
  await ask(0); // what is prepared already is sent behind others at once
  for (let ahead = PIPELINE - 5; ahead <= PIPELINE + 5; ahead++) {
    const numbers = Array.from({ length: ahead }, (_, number) => number);
    const transactions = [1, 2, 3];
    const asked = numbers.map(ask);
    for (let turn = 0; turn < 10; turn++) await undefined; // a statement is sent some microtasks after it is awaited
    const changed = transactions.map(change);
    expect(await Promise.all(asked)).toEqual(numbers);
    expect(await Promise.all(changed)).toEqual(transactions);
    expect(sql.demand()).toBe(0);
  }
  await sql.end();
  await postgres.stop();
});
