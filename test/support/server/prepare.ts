import { MAINTENANCE, type Sql } from "#db/connect";
import type { call } from "./call";
import { connectTo } from "./postgres";
import { world } from "./world";

/** Fills tables in one transaction that may take as long as it needs: a connection of the server gives up after some seconds. */
export async function prepare(work: (sql: Sql) => PromiseLike<unknown>) {
  const { databaseUrl } = world.config;
  const pool = databaseUrl ? connectTo(databaseUrl, MAINTENANCE).$client : world.sql;
  await pool.begin(async (tx) => {
    await tx`set local statement_timeout = 0`;
    await work(tx);
  });
  if (pool !== world.sql) await pool.end();
}

/** Sends a heavy write, and sends it again with the same key where a busy machine answers 503. */
export async function sendWithKey(send: (headers: Record<string, string>) => ReturnType<typeof call>) {
  const headers = { "idempotency-key": crypto.randomUUID() };
  for (let again = 0; ; again++) {
    const answer = await send(headers);
    if (answer.status !== 503 || again === 10) return answer;
  }
}
