import { expect, test } from "bun:test";
import { connectDatabase } from "#db/connect";

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
