import type { Config } from "#config";
import { createStamps } from "#crypto/stamps";
import { MAINTENANCE, type Pool, type Sql } from "#db/connect";
import { migrationStatus } from "#db/migrate";
import { reachDatabase } from "#db/open";
import { checkKeys } from "#db/secret-keys";
import { readUrl } from "#db/url";
import { countUnproven } from "#maintenance/stamped-rows";
import { readMarkers } from "#maintenance/stamping-markers";
import { findEnd } from "#maintenance/watch-stamping";
import { findSharedDomain } from "#modules/issuance/domains/services/shared";
import { compareWithDatabase, judgeClock } from "./clock";
import { attempt, type Finding, failed, ok, unused, warning, withAdvice } from "./finding";

const REACHING = "See that Postgres runs there and lets this machine in, and that DATABASE_URL names its address, user, password and database.";

/** Examines the database, what it holds, and what is to open and prove that. */
export async function* examineDatabase(config: Config): AsyncGenerator<Finding> {
  const reached = await reachDatabase(config, { warn: () => {}, info: () => {} }, MAINTENANCE).catch((error: Error) => error);
  if (reached instanceof Error) return yield { part: "database", ...failed(withAdvice(reached, config.databaseUrl && REACHING)) };
  const sql = reached.db.$client;
  try {
    yield { part: "database", ...(await attempt(() => examineServer(sql, config))) };
    yield { part: "migrations", ...(await attempt(() => examineMigrations(sql))) };
    yield { part: "clock", ...(await attempt(async () => judgeClock(await compareWithDatabase(sql)))) };
    yield { part: "keys", ...(await attempt(() => examineKeys(sql, config))) };
    yield { part: "domain", ...(await attempt(() => examineDomain(sql, config))) };
    yield { part: "stamps", ...(await attempt(() => examineStamps(sql, config))) };
  } finally {
    await reached.stop();
  }
}

const OLDEST = 15;

type Found = { version: string; name: string; isStandby: boolean; isClosed: boolean };

async function examineServer(sql: Sql, { databaseUrl }: Config) {
  const began = performance.now();
  const [row] = await sql<Found[]>`
    select current_setting('server_version') as version, current_database() as name, pg_is_in_recovery() as "isStandby", current_setting('transaction_read_only') = 'on' as "isClosed"`;
  const took = Math.round(performance.now() - began);
  const { version = "", name = "", isStandby, isClosed } = row ?? {};
  if (Number.parseInt(version, 10) < OLDEST) return failed(`Postgres ${version} is too old. Use Postgres ${OLDEST} or later.`);
  if (isStandby)
    return failed(`The database ${name} is on a standby, which takes no writes. Point DATABASE_URL at the primary, or at all servers with ${FOLLOWING}.`);
  if (isClosed)
    return failed(`The database ${name} takes no writes: default_transaction_read_only is on. Reset it: ALTER DATABASE or ALTER ROLE, or postgresql.conf.`);
  if (databaseUrl && isLeftToChance(databaseUrl))
    return warning(`Postgres ${version} answers in ${took} ms. DATABASE_URL names several servers: with ${FOLLOWING} the one is found that takes writes.`);
  return ok(`Postgres ${version} answers in ${took} ms.`);
}

const FOLLOWING = "target_session_attrs=read-write";

/** True where the first of several servers that answers is taken, also one that takes no writes. */
function isLeftToChance(url: string) {
  const { targets, attributes } = readUrl(url);
  return targets.length > 1 && attributes === "any";
}

async function examineMigrations(sql: Sql) {
  const { migrations, unknown } = await migrationStatus(sql);
  const pending = migrations.filter(({ applied }) => !applied).length;
  if (unknown.length > 0) return failed("The database is of a newer certitude. Use that release.");
  if (pending > 0) return warning(`${pending} of ${migrations.length} migrations are pending. serve applies them at its start, certitude migrate now.`);
  return ok(`All ${migrations.length} migrations are applied.`);
}

class Undone extends Error {}

async function examineKeys(sql: Pool, { keyring }: Config) {
  const [table] = await sql`select to_regclass('secret_keys') is not null as "isThere"`;
  if (!table?.isThere) return unused("The database has no tables yet, so nothing is sealed.");
  let fault: string | undefined;
  const reading = sql.begin(async (tx) => {
    fault = await checkKeys(tx, keyring);
    throw new Undone(); // it would note a new key
  });
  await reading.catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error;
  });
  return fault === undefined ? ok("SECRETS_KEY opens what the database holds.") : failed(fault);
}

async function examineDomain(sql: Sql, config: Config) {
  const [table] = await sql`select to_regclass('domain_holders') is not null as "isThere"`;
  if (!table?.isThere) return unused("The database has no tables yet, so no organization shares the server.");
  const wrong = await findSharedDomain(sql, config);
  return wrong === undefined ? ok("No organization can prove the server's own names without having been named for them.") : warning(wrong);
}

/** Of a database that this release has not begun to stamp, the next start stamps what stands there. */
async function examineStamps(sql: Pool, { keyring }: Config) {
  const [table] = await sql`select to_regclass('stamping_levels') is not null as "isThere"`;
  if (!table?.isThere) return unused("A server of this release has not started here yet: its first start stamps what stands in the database.");
  const stamps = createStamps(keyring);
  const markers = await readMarkers(sql, stamps);
  if (markers.some(({ marker }) => !marker)) return warning("An upgrade is pending: the next start of a server stamps what stands in the database.");
  const until = await findEnd(sql, stamps);
  if (until)
    return warning(`An upgrade is under way until ${until}: what the release before writes counts until then. Have every server run the new release by then.`);
  const counts = [...(await countUnproven(sql, stamps))].map(([name, count]) => `${name} ${count}`);
  if (counts.length === 0) return ok("Every row that needs a stamp has one.");
  return failed(
    `Rows are held, because no stamp proves them: ${counts.join(", ")}. They were changed in the database, or an upgrade did not stamp them. Look at them, and where they are right run certitude secrets trust.`,
  );
}
