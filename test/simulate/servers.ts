import { connectDatabase, type Pool } from "#db/connect";
import { sendMail } from "#jobs/send-mail";
import { createMailTransport } from "#mail/transport";
import { startMailing } from "../support/server/mailing";
import { world } from "../support/server/world";
import { startFailingMail } from "./mail";

/** Two servers on one database, and the mail server that both send to. Each has connections and a mail transport of its own. */
export async function startServers(seed: number) {
  const failing = await startFailingMail(seed);
  const { deps, stop: stopQueue } = await startMailing(failing.url);
  const { databaseUrl } = world.config;
  const { mail } = deps.config;
  if (!mail) throw new Error("The servers know no mail server.");
  const pools: [Pool, Pool] = databaseUrl ? [open(databaseUrl), open(databaseUrl)] : [world.sql, world.sql];
  const transports = pools.map(() => createMailTransport(mail));
  const works = pools.map((sql, index) => sendMail({ ...deps, sql, log: world.deps.log, mail: transports[index] }));
  async function stop() {
    for (const transport of transports) transport.close();
    await stopQueue();
    for (const table of ["digests", "digest_notices"]) await world.sql.unsafe(`delete from ${table}`); // of renewals, which none waits for
    if (databaseUrl) await Promise.all(pools.map((each) => each.end()));
    await failing.stop();
  }
  return { deps, pools, works, failing, stop };
}

const open = (databaseUrl: string) => connectDatabase(databaseUrl, { max: 4 }).$client;

export type Servers = Awaited<ReturnType<typeof startServers>>;
