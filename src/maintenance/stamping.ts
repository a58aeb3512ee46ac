import type { Keyring } from "#crypto/keyring";
import { ALL_LEVELS, createStamps, type Level, type Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import { lockName } from "#db/locks";
import type { Deps } from "#deps";
import { addPlatformEvent } from "#modules/people/audit/queries";
import type { Report } from "./socket";
import { columnsOf, type Restamped, restampAll } from "./stamped-rows";
import { type Marker, readMarker, readMarkers, writeMarker } from "./stamping-markers";

const HOUR_MS = 3_600_000;
/** How long after an upgrade servers of the release before may go on writing rows, which have no stamps. */
const TRUST_MS = HOUR_MS;
/** How long after that the servers may have stood still, so that what the release before wrote is stamped when they start again. */
const STANDSTILL_MS = 7 * 24 * HOUR_MS;

type Services = Pick<Deps, "sql" | "stamps" | "config" | "log" | "clock" | "cluster">;

/**
 * Begins to demand stamps, and returns whether rows without one count for now. After an upgrade rows are stamped at once, and
 * for an hour servers of the release before may add some (`endTrust`).
 */
export async function demandStamps(services: Services) {
  const { sql, stamps, config, log, clock, cluster } = services;
  const markers = await readOrBegin(services);
  const trusted = markers.filter(({ trustsUntil }) => trustsUntil !== null && clock().getTime() < trustsUntil.getTime() + STANDSTILL_MS);
  stamps.trust(trusted.map(({ level }) => level));
  if (trusted.length === 0) return false;
  log.warn(
    { until: trusted[0]?.trustsUntil },
    "an upgrade is under way: what the release before writes is taken as ordered until then, and is stamped; after that, only what is stamped counts",
  );
  if (cluster.runsJobs) {
    const totals = await restampAll(sql, stamps, { choice: "what has none", levels: stamps.trusted(), keyId: config.keyring.ids()[0] ?? "" });
    log.info({ totals }, "what stood in the database is stamped");
  }
  return true;
}

/** Returns what stamps for a command that may run before the first start: what it stamps must not look as if servers had stamped before. */
export async function stampsOfCommand({ sql, keyring, log }: { sql: Pool; log: Deps["log"]; keyring: Keyring }) {
  const stamps = createStamps(keyring);
  await readOrBegin({ sql, stamps, log, clock: () => new Date() });
  return stamps;
}

type Begun = Marker & { level: Level };

/** The marker of each level. Those that have none begin, all at once: servers that start together wait for each other. */
async function readOrBegin({ sql, stamps, log, clock }: Pick<Services, "sql" | "stamps" | "log" | "clock">): Promise<Begun[]> {
  return sql.begin(async (tx) => {
    await lockName(tx, "stamping");
    const found: Begun[] = [];
    const begun: Begun[] = [];
    for (const { level, marker } of await readMarkers(tx, stamps)) {
      if (!marker) begun.push({ level, ...(await beginStamping(tx, log, level, clock())) });
      else found.push({ level, ...marker });
    }
    for (const each of begun) await writeMarker(tx, stamps, each.level, each);
    const trusting = begun.filter(({ trustsUntil }) => trustsUntil !== null);
    if (trusting[0]) await addStampsEvent(tx, "stamps.trust-began", { until: trusting[0].trustsUntil, levels: trusting.map(({ level }) => level) });
    return [...found, ...begun];
  });
}

/** Decides at the first start: only a level of which nothing was ever stamped is trusted as it stands. */
async function beginStamping(tx: Sql, log: Deps["log"], level: Level, now: Date): Promise<Marker> {
  const [found] = await tx<{ rows: boolean; stamps: boolean }[]>`select ${exists(tx, level, "")} as rows, ${exists(tx, level, "stamped")} as stamps`;
  if (found?.stamps) log.error({ level }, "the marker of stamping was changed or deleted, and not by a server: stamps are demanded as before");
  return { trustsUntil: found?.rows && !found.stamps ? new Date(now.getTime() + TRUST_MS) : null };
}

/** SQL condition: there are rows that have a place for a stamp of the level, or a stamp in it. */
const exists = (sql: Sql, level: Level, which: "" | "stamped") =>
  sql.text(
    columnsOf([level])
      .map(({ table, column }) => `exists (select from ${table}${which && ` where ${column} is not null`})`)
      .join(" or "),
  );

/** Ends the trust in each level once it is time, or another server or an administrator ended it. */
export async function endTrust({ sql, stamps, config, clock, cluster }: Omit<Services, "log">) {
  const now = clock().getTime();
  for (const level of stamps.trusted()) {
    const until = (await readMarker(sql, stamps, level))?.trustsUntil?.getTime() ?? Number.NEGATIVE_INFINITY;
    const isTime = now >= until && now < until + STANDSTILL_MS;
    if (isTime && !cluster.runsJobs) continue; // the server that runs jobs does it
    if (isTime) await trustRows({ sql, stamps, keyId: config.keyring.ids()[0] ?? "", levels: [level] });
    if (now >= until) stamps.trust(stamps.trusted().filter((each) => each !== level));
  }
}

/** The name of a level in a backup: the release that wrote the backup had stamped it. */
const KNOWN_BY: Record<Level, string> = { 1: "stamping", 2: "stamping_levels" };
type Restored = { header: { tables: readonly { name: string }[] }; isProven: boolean };

/**
 * Has a restored database demand stamps at once: no other server wrote to it. Stamps what the backup's release could not, and
 * for a proven backup also what an upgrade had left.
 */
export async function stampRestored(tx: Sql, keyring: Keyring, { header, isProven }: Restored) {
  const stamps = createStamps(keyring);
  const names = new Set(header.tables.map(({ name }) => name));
  for (const { level, marker } of await readMarkers(tx, stamps)) {
    const wasUnderWay = isProven && marker?.trustsUntil != null;
    if (wasUnderWay || !names.has(KNOWN_BY[level])) await restampAll(tx, stamps, { choice: "what does not hold", levels: [level], keyId: "" });
    await writeMarker(tx, stamps, level, { trustsUntil: null });
  }
}

type Trusting = { sql: Pool; stamps: Stamps; keyId: string; levels: readonly Level[] };

/**
 * Stamps whatever has no stamp of these levels that holds, and demands them from then on. For an administrator who has examined
 * at it, and at the end of an upgrade.
 */
async function trustRows({ sql, stamps, keyId, levels }: Trusting, reportProgress?: (soFar: Restamped) => void) {
  const restamped = await restampAll(sql, stamps, { choice: "what does not hold", levels, keyId }, reportProgress);
  const totals = restamped.map(({ table, column, stamped }) => ({ table, column, stamped }));
  for (const level of levels) await writeMarker(sql, stamps, level, { trustsUntil: null });
  await addStampsEvent(sql, "stamps.trusted", { levels, totals });
  return totals;
}

/** The same on the command line, in words. */
export async function trustForAdministrator(sql: Pool, keyring: Keyring, report: Report) {
  const services = { sql, stamps: createStamps(keyring), keyId: keyring.ids()[0] ?? "", levels: ALL_LEVELS };
  const totals = await trustRows(services, ({ table, column, stamped }) => report(`${table}: ${stamped} of ${column} stamped`));
  await sql`update assignment_policies set applied_up_to = ${MIN_UUID} where applied_up_to is null and deleted_at is null`; // what changed while they were held
  report(
    `Done: ${totals.reduce((sum, { stamped }) => sum + stamped, 0)} rows stamped. Hosts get what is stamped at their next poll, and its admins are let in.`,
  );
}

const addStampsEvent = (sql: Sql, action: string, details: Record<string, unknown>) =>
  addPlatformEvent(sql, { actor: { type: "server" }, requestId: null }, { action, targetType: "stamps", targetId: "database", details });
