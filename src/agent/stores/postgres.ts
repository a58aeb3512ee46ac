import { dirname, join } from "node:path";
import { argvOf, hostWord, serverWord } from "../host/arguments";
import { ownerOf, readSnapshot, textOf } from "../host/files";
import { secretIn, serverStore } from "./servers";

const PASSWORD = "PGPASSWORD";

export const postgres = serverStore({
  passwordVariable: PASSWORD,
  async check(directory, { config }) {
    if (config.reloadCommand || config.dbUser || (await readSnapshot(join(directory, "PG_VERSION")))) return;
    throw new Error(`How Postgres is to reload is not known: ${directory} is not its data directory. Set config.dbUser or config.reloadCommand.`);
  },
  /** As the account to which the server and its files belong: the one that it lets in without a password. */
  async reload(directory, target, transaction) {
    const { uid, gid } = await ownerOf(directory);
    const user = process.getuid?.() === 0 ? { uid, gid } : undefined;
    const { dbUser } = target.config;
    if (dbUser) {
      const argv = argvOf("psql", "-X", "-w", await addressOf(directory), "-d", "postgres", "-U", serverWord(dbUser), "-c", "SELECT pg_reload_conf()");
      return transaction.reload(argv, { user, secret: secretIn(PASSWORD, target) });
    }
    const isOwn = user !== undefined || uid === process.getuid?.();
    await transaction.reload(argvOf(hostWord(isOwn ? await findPgCtl(directory) : "pg_ctl"), "reload", "-D", serverWord(directory)), { user });
  },
});

/** Returns the local address of a running server, from its own file; where that is not known, psql knows the usual place. */
async function addressOf(directory: string) {
  const [, , , port, socketDirectory] = textOf(await readSnapshot(join(directory, "postmaster.pid"))).split("\n");
  return port && socketDirectory ? argvOf("-h", serverWord(socketDirectory), "-p", serverWord(port)) : argvOf();
}

/** Beside the server's own program, which Debian does not have on the PATH. */
async function findPgCtl(directory: string) {
  const [program = ""] = textOf(await readSnapshot(join(directory, "postmaster.opts"))).split(' "');
  return program.startsWith("/") ? join(dirname(program.trim()), "pg_ctl") : "pg_ctl";
}
