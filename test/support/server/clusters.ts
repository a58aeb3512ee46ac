import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectDatabase } from "#db/connect";
import { DATABASE_USER, freePort, newCluster, postgresPrograms, startListening } from "../pki/tls-servers";

const SETTINGS = ["fsync=off", "logging_collector=off", "wal_level=replica", "wal_keep_size=256", "max_wal_senders=4", "autovacuum=off"];

/** A directory that the account of Postgres may use. */
function newDirectory() {
  const directory = mkdtempSync(join(tmpdir(), "certitude-cluster-"));
  chownSync(directory, DATABASE_USER.uid, DATABASE_USER.gid);
  return directory;
}

async function runAsDatabaseUser(program: string, ...options: string[]) {
  const child = Bun.spawn([`${postgresPrograms()}/${program}`, ...options], { ...DATABASE_USER, cwd: tmpdir(), stdout: "ignore", stderr: "pipe" });
  if ((await child.exited) !== 0) throw new Error(await child.stderr.text());
}

/** A Postgres of a test's own, whose port stays the same when it is stopped and started again. */
async function runCluster(data: string, settings: string[], word = "ready to accept") {
  const [sockets, port] = [newDirectory(), await freePort()];
  const options = [...SETTINGS, ...settings, `port=${port}`, `unix_socket_directories=${sockets}`].flatMap((each) => ["-c", each]);
  const start = () => startListening([`${postgresPrograms()}/postgres`, "-D", data, ...options], port, { user: DATABASE_USER, word });
  let server = await start();
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;

  /** Runs one statement on a connection of its own, outside of any pool. */
  async function ask<Row extends object>(statement: string): Promise<Row[]> {
    const { $client: sql } = connectDatabase(url, { max: 1, statementTimeout: 0, silence: 0 });
    try {
      return [...(await sql.unsafe<Row[]>(statement))];
    } finally {
      await sql.end();
    }
  }

  /** Stops every process of it, as a machine that stands still does, or lets them go on. */
  function signal(name: "SIGSTOP" | "SIGCONT") {
    const children = readFileSync(`/proc/${server.pid}/task/${server.pid}/children`, "utf8").split(" ").filter(Boolean).map(Number);
    for (const pid of [server.pid, ...children]) process.kill(pid, name);
  }

  return {
    port,
    url,
    data,
    ask,
    freeze: () => signal("SIGSTOP"),
    thaw: () => signal("SIGCONT"),
    /** As `pg_ctl stop -m immediate`: as if it had crashed. */
    crash: () => server.stop("SIGQUIT"),
    async start() {
      server = await start();
    },
    promote: () => runAsDatabaseUser("pg_ctl", "promote", "-D", data),
    async remove() {
      await server.stop("SIGQUIT");
      for (const each of [data, sockets]) rmSync(each, { recursive: true });
    },
  };
}

export type Cluster = Awaited<ReturnType<typeof runCluster>>;

export async function startPrimary(...settings: string[]) {
  const { data } = await newCluster();
  return runCluster(data, settings);
}

/** A copy of `primary` that follows it, once it has said `word`. */
export async function startStandby(primary: Cluster, { settings = [], word }: { settings?: string[]; word?: string } = {}) {
  const data = newDirectory();
  await runAsDatabaseUser("pg_basebackup", "-R", "-D", data, "-d", primary.url, "-X", "stream", "-c", "fast", "--no-sync");
  return runCluster(data, settings, word);
}

/** Starts a cluster that has crashed as a standby of `primary`, as a failover brings the former primary back. */
export async function bringBack(former: Cluster, primary: Cluster) {
  rmSync(former.data, { recursive: true });
  await runAsDatabaseUser("pg_basebackup", "-R", "-D", former.data, "-d", primary.url, "-X", "stream", "-c", "fast", "--no-sync");
  await former.start();
}
