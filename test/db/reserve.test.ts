import { expect, test } from "bun:test";
import { connectDatabase } from "#db/connect";
import { isDatabaseAway } from "#db/failures";
import { startPostgres } from "../support/server/postgres";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";

const { TEST_DATABASE_URL } = Bun.env;

// The embedded database is one session.
if (TEST_DATABASE_URL)
  test("each connection that is opened for a session is given to it, and is the pool's again afterwards", async () => {
    const { $client: sql } = connectDatabase(TEST_DATABASE_URL, { max: 3 });
    for (let round = 0; round < 2; round++) {
      const sessions = await Promise.all([sql.reserve(), sql.reserve(), sql.reserve()]);
      const waiting = sql`select pg_backend_pid() as pid`.then(([row]) => row?.pid);
      const pids = await Promise.all(sessions.map(async (session) => (await session`select pg_backend_pid() as pid`)[0]?.pid));
      expect(new Set(pids).size).toBe(3);
      expect(sql.demand()).toBe(4);
      for (const session of sessions) session.release();
      expect(pids).toContain(await waiting);
      expect(sql.demand()).toBe(0);
    }
    await sql.end();
  });

test("a session whose connection is cut fails what it still asks for, and its place in the pool is taken by a new connection", async () => {
  const postgres = await startPostgres();
  const proxy = await startProxy(targetOf(postgres.url));
  const { $client: sql } = connectDatabase(viaPort(postgres.url, proxy.port), { max: 1 });
  const session = await sql.reserve();
  await session`select 1`;
  const isAsked = proxy.mute();
  const failures = [session`select 2`, session`select 3`].map((asked) =>
    asked.then(
      () => undefined,
      (error: Error) => error,
    ),
  );
  await isAsked;
  proxy.cut();
  for (const failure of await Promise.all(failures)) expect(isDatabaseAway(failure)).toBe(true);
  expect(isDatabaseAway(await session`rollback`.catch((error: Error) => error))).toBe(true);
  session.release();
  for (let index = 0; index < 3; index++) expect(await sql<{ one: number }[]>`select 1 as one`).toMatchObject([{ one: 1 }]);
  await sql.end();
  await proxy.stop();
  await postgres.stop();
});

test("a session that waits when the pool's connection is cut gets the next connection, ahead of later statements", async () => {
  const postgres = await startPostgres();
  const proxy = await startProxy(targetOf(postgres.url));
  const { $client: sql } = connectDatabase(viaPort(postgres.url, proxy.port), { max: 1 });
  const first = await sql.reserve();
  const waiting = sql.reserve();
  const later = sql<{ one: number }[]>`select 1 as one`.then(([row]) => row?.one);
  proxy.cut();
  expect(await Promise.race([waiting.then(() => "session"), later.then(() => "statement")])).toBe("session");
  first.release();
  (await waiting).release();
  expect(await later).toBe(1);
  expect(sql.demand()).toBe(0);
  await sql.end();
  await proxy.stop();
  await postgres.stop();
});
