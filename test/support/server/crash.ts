import { resolve } from "node:path";
import type { Config } from "#config";
import { createRunner } from "./job-runner";
import { environment, world } from "./world";

const PROGRAM = resolve(import.meta.dir, "job-process.ts");
const VICTIM = "victim";
const LOCK = 471_147;

/** The fate of the statement at which the process is killed: it is lost, or the database still does it. */
type Ending = "lost" | "done";
/** The endings of the steps, by turns, each list with its title. `bun run test:killed` has every step end in both ways. */
export const ENDINGS: [string, Ending[]][] = Bun.env.CERTITUDE_EVERY_ENDING
  ? [
      ["the statement is lost", ["lost"]],
      ["the database still does the statement", ["done"]],
    ]
  : [["the statement is lost, or the database still does it", ["lost", "done"]]];

/** A piece of work, and when it is done. */
export type Piece = { isDone: () => Promise<boolean> };

type Plan<Work extends Piece> = {
  /** Names of the table of jobs. */
  jobs: string[];
  /** Tables of which the first insert, update and delete of each transaction are steps. */
  tables: string[];
  /** Of the server's environment, and the same as a configuration. */
  env?: Record<string, string>;
  config?: Config;
  make: () => Promise<Work>;
  /** Ends at once what would end by itself after a while, once the process is killed. */
  afterKill?: (work: Work) => Promise<unknown>;
  /** Holds against it what is seen of the work, however it came about. */
  verify: (work: Work, killedAt: number | undefined) => Promise<void>;
};

/** Another process that runs these jobs when it is told to. */
export async function startJobProcess(jobs: string[], env: Record<string, string> = {}) {
  const name = `${VICTIM} ${crypto.randomUUID()}`;
  const url = new URL(world.config.databaseUrl ?? "");
  url.searchParams.set("application_name", name);
  const child = Bun.spawn([process.execPath, PROGRAM, ...jobs], {
    env: { PATH: Bun.env.PATH ?? "", ...environment, DATA_DIR: world.directory, DATABASE_URL: url.href, ...env },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "inherit",
  });
  const output = child.stdout.getReader();
  const { done } = await output.read();
  if (done) throw new Error(`it ended with ${await child.exited}`);
  function go() {
    child.stdin.write("go\n");
    child.stdin.flush();
  }
  async function kill() {
    child.kill("SIGKILL");
    await child.exited;
  }
  return { name, go, kill };
}

/** Runs these jobs in this process, as a server does, until `until` resolves. */
export async function runHere(names: string[], until: () => Promise<unknown>, config = world.config) {
  const runner = await createRunner({ config, db: world.database.db }, names);
  const stop = await runner.run();
  try {
    await until();
  } finally {
    await stop();
  }
}

/** Lets the queue try again at once what waits for another attempt. */
const hurry = () => world.sql`update pgboss.job set start_after = now() where state = 'retry' and start_after > now()`;

/** Waits until it is done. */
export async function finish({ isDone }: Piece) {
  while (!(await isDone())) {
    await hurry();
    await Bun.sleep(50);
  }
}

/**
 * Kills a process right before its first write, with the next piece of work before its second, and so on to the end; this
 * process does the rest each time. Returns the number of steps.
 */
export async function killAtEachStep<Work extends Piece>(plan: Plan<Work>, endings: Ending[]) {
  const breakpoint = await createBreakpoint(plan.tables);
  const start = () => startJobProcess(plan.jobs, plan.env);
  let next = start();
  try {
    for (let step = 1; ; step++) {
      const victim = await next;
      next = start(); // meanwhile, because it takes a second
      if (!(await killAt(plan, victim, breakpoint, step, endings[step % endings.length] ?? "lost"))) return step - 1;
    }
  } finally {
    await (await next).kill();
    await breakpoint.remove();
  }
}

/** Returns false where the work was done before that step. */
async function killAt<Work extends Piece>(
  { jobs, config, make, afterKill, verify }: Plan<Work>,
  victim: Victim,
  breakpoint: Breakpoint,
  step: number,
  ending: Ending,
) {
  const work = await make();
  await breakpoint.set(step);
  victim.go();
  let isStopped = false;
  for (let isDone = false; !isStopped && !isDone; isStopped = await breakpoint.isReached()) {
    isDone = await work.isDone();
    await Bun.sleep(20);
  }
  await victim.kill();
  await breakpoint.end(victim.name, ending);
  await world.sql`update pgboss.job set heartbeat_on = now() - interval '1 hour' where state = 'active'`;
  await afterKill?.(work);
  if (isStopped) await runHere(jobs, () => finish(work), config);
  await verify(work, isStopped ? step : undefined);
  return isStopped;
}

type Victim = Awaited<ReturnType<typeof startJobProcess>>;
type Breakpoint = Awaited<ReturnType<typeof createBreakpoint>>;

/**
 * Makes the database wait before the victim's first write of its kind to one of these tables in a transaction, or before a job
 * is noted as completed: the test has the lock that it asks for.
 */
async function createBreakpoint(tables: string[]) {
  const { sql } = world;
  const connection = await sql.reserve();
  await connection`select pg_advisory_lock(${LOCK}::bigint)`;
  await sql.unsafe(`
    create sequence victim_steps;
    create table victim_stop (step bigint primary key);
    create function stop_victim() returns trigger language plpgsql as $$
      declare
        mark text := format('[%s %s]', tg_op, tg_relname);
        marks text := coalesce(current_setting('victim.marks', true), '');
      begin
        if current_setting('application_name') like '${VICTIM} %' and strpos(marks, mark) = 0 then
          perform set_config('victim.marks', marks || mark, true);
          if nextval('victim_steps') = (select step from victim_stop) then perform pg_advisory_xact_lock(${LOCK}); end if;
        end if;
        return coalesce(new, old);
      end $$;
    create trigger stop_victim before update on pgboss.job_common for each row when (new.state = 'completed') execute function stop_victim();
    ${tables.map((table) => `create trigger stop_victim before insert or update or delete on ${table} for each row execute function stop_victim()`).join(";\n")}`);
  const connectionsOf = (victim: string) => sql`select from pg_stat_activity where application_name = ${victim}`;

  return {
    async set(step: number) {
      await sql`delete from victim_stop`;
      await sql`insert into victim_stop values (${step})`;
      await sql`select setval('victim_steps', 1, false)`;
    },
    async isReached() {
      const waiting = await sql`
        select from pg_locks join pg_database d on d.oid = database
        where locktype = 'advisory' and objid = ${LOCK} and not granted and d.datname = current_database()`;
      return waiting.length > 0;
    },
    /** Ends what the killed process left in the database. */
    async end(victim: string, ending: Ending) {
      if (ending === "lost") await sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = ${victim}`;
      else await connection`select pg_advisory_unlock(${LOCK}::bigint)`;
      while ((await connectionsOf(victim)).length > 0) await Bun.sleep(10);
      if (ending === "done") await connection`select pg_advisory_lock(${LOCK}::bigint)`;
    },
    async remove() {
      await connection`select pg_advisory_unlock(${LOCK}::bigint)`;
      connection.release();
      await sql.unsafe("drop function stop_victim cascade; drop table victim_stop; drop sequence victim_steps");
    },
  };
}
