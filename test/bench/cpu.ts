import { readdir, readFile } from "node:fs/promises";
import type postgres from "postgres";
import type { Contestant } from "./measure";

/** Of the kernel's clock, a second; every Linux has it so. */
const TICKS = 100;

type Server = { pid: number; application: string };

/** The CPU time that a server, and the backends of Postgres that work for it, take for each request of what is `measured`. */
export function createMeter(sql: postgres.Sql, { pid, application }: Server, seconds: number) {
  const spent = { server: 0, Postgres: 0, requests: 0 };
  const read = async () => ({ server: await cpuOf(await familyOf(pid)), Postgres: await cpuOf(await backendsOf(sql, application)) });
  function measured(contestant: Contestant): Contestant {
    return async (callers) => {
      await untilIdle(sql);
      await sql`vacuum`; // what one contestant leaves dead, the next would read
      const before = await read();
      const rate = await contestant(callers);
      const after = await read();
      spent.server += after.server - before.server;
      spent.Postgres += after.Postgres - before.Postgres;
      spent.requests += rate * seconds;
      return rate;
    };
  }
  /** In seconds. */
  const perRequest = () => ({ server: spent.server / spent.requests, Postgres: spent.Postgres / spent.requests });
  return { measured, perRequest };
}

async function backendsOf(sql: postgres.Sql, application: string) {
  const rows = await sql<{ pid: number }[]>`select pid from pg_stat_activity where datname = current_database() and application_name = ${application}`;
  return rows.map((each) => each.pid);
}

/** A caller that has gone leaves requests behind, which the server still works on. */
async function untilIdle(sql: postgres.Sql) {
  const busy = () => sql`select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state <> 'idle' limit 1`;
  while ((await busy()).length > 0) await Bun.sleep(20);
}

/** A process and its children, such as a server's workers. */
async function familyOf(pid: number): Promise<number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const childrenOf = (thread: string) => readFile(`/proc/${pid}/task/${thread}/children`, "utf8").catch(() => ""); // it may have ended meanwhile
  const lists = await Promise.all(threads.map(childrenOf));
  const children = lists.join(" ").split(/\s+/).filter(Boolean).map(Number);
  return [pid, ...(await Promise.all(children.map(familyOf))).flat()];
}

/** Seconds that the processes have worked so far, in user mode and in the kernel. */
export async function cpuOf(pids: number[]) {
  const times = await Promise.all(pids.map(async (pid) => readTimes(await readFile(`/proc/${pid}/stat`, "utf8"))));
  return times.reduce((sum, each) => sum + each, 0);
}

/** The second field is the program's name in brackets, and may hold anything. */
function readTimes(stat: string) {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS;
}
