import type { Keyring } from "#crypto/keyring";
import { createStamps, type Stamp, type Stamps } from "#crypto/stamps";
import type { Pool, Sql } from "#db/connect";
import { MIN_UUID } from "#db/ids";
import type { Deps } from "#deps";
import { addPlatformEvent } from "#modules/people/audit/queries";
import type { Tell } from "./socket";
import { type Restamped, restampAll, STAMPED_COLUMNS } from "./stamped-rows";

const HOUR_MS = 3_600_000;
/** How long after an upgrade servers of the release before may go on writing rows, which have no stamps. */
const TRUST_MS = HOUR_MS;
/** How long after that the servers may have stood still, so that what they found is stamped when they start again. */
const STANDSTILL_MS = 7 * 24 * HOUR_MS;

type Marker = { trustsUntil: Date | null };
const factsOf = ({ trustsUntil }: Marker) => ["stamping", trustsUntil?.toISOString() ?? null] as const;

/** Returns since when stamps are demanded, as the database says and its stamp proves. */
export async function readMarker(sql: Sql, stamps: Stamps): Promise<Marker | undefined> {
  const [row] = await sql<{ until: string | null; stamp: Stamp }[]>`select iso(trusts_until) as until, stamp from stamping`;
  const marker = row && { trustsUntil: row.until === null ? null : new Date(row.until) };
  return marker && stamps.isStamped(row.stamp, factsOf(marker)) ? marker : undefined;
}

export async function writeMarker(sql: Sql, stamps: Stamps, marker: Marker) {
  await sql`
    insert into stamping (trusts_until, stamp) values (${marker.trustsUntil?.toISOString() ?? null}, ${stamps.of(factsOf(marker))})
    on conflict (is_only) do update set trusts_until = excluded.trusts_until, stamp = excluded.stamp`;
}

type Services = Pick<Deps, "sql" | "stamps" | "config" | "log" | "clock" | "cluster">;

/**
 * Begins to demand stamps of whatever reaches hosts. At the first start after an upgrade, rows have none: for an hour what stands in the
 * database is taken as ordered, also from servers of the release before, and is then stamped (`endTrust`). Returns whether it is trusted now.
 */
export async function demandStamps(services: Services) {
  const { sql, stamps, log, clock } = services;
  const { trustsUntil } = (await readMarker(sql, stamps)) ?? (await beginStamping(services));
  stamps.trust(trustsUntil !== null && clock().getTime() < trustsUntil.getTime() + STANDSTILL_MS);
  if (stamps.isTrusting())
    log.warn(
      { until: trustsUntil },
      "what stands in the database is taken as ordered until then, and is stamped; after that, only what is stamped reaches hosts and makes admins",
    );
  return stamps.isTrusting();
}

/** Returns what stamps for a command that may run before the first start: what it stamps must not look as if servers had stamped before. */
export async function stampsOfCommand({ sql, keyring, log }: Pick<Deps, "sql" | "log"> & { keyring: Keyring }) {
  const stamps = createStamps(keyring);
  if (!(await readMarker(sql, stamps))) await beginStamping({ sql, stamps, log, clock: () => new Date() });
  return stamps;
}

/** Decides at the first start: only a database in which nothing was ever stamped is trusted as it stands. */
async function beginStamping({ sql, stamps, log, clock }: Pick<Services, "sql" | "stamps" | "log" | "clock">): Promise<Marker> {
  const [found] = await sql<{ rows: boolean; stamps: boolean }[]>`select ${exists(sql, "")} as rows, ${exists(sql, "stamped")} as stamps`;
  if (found?.stamps) log.error("the row of the table stamping was changed or deleted, and not by a server: stamps are demanded as before");
  const marker = { trustsUntil: found?.rows && !found.stamps ? new Date(clock().getTime() + TRUST_MS) : null };
  await writeMarker(sql, stamps, marker);
  if (marker.trustsUntil) await tell(sql, "stamps.trust-began", { until: marker.trustsUntil });
  return marker;
}

/** SQL condition: there are rows that have a place for a stamp, or a stamp in it. */
const exists = (sql: Sql, which: "" | "stamped") =>
  sql.text(STAMPED_COLUMNS.map(({ table, column }) => `exists (select from ${table}${which && ` where ${column} is not null`})`).join(" or "));

/** Ends the trust once it is time, or another server or an administrator ended it. */
export async function endTrust({ sql, stamps, config, clock, cluster }: Omit<Services, "log">) {
  const until = (await readMarker(sql, stamps))?.trustsUntil?.getTime() ?? Number.NEGATIVE_INFINITY;
  const now = clock().getTime();
  const isTime = now >= until && now < until + STANDSTILL_MS;
  if (isTime && cluster.runsJobs) await trustRows({ sql, stamps, keyId: config.keyring.ids()[0] ?? "" });
  if (now >= until + STANDSTILL_MS || (isTime && cluster.runsJobs)) stamps.trust(false);
}

/** Stamps whatever has no stamp that holds, and demands stamps from then on. For an administrator who has looked at it, and at the end of an upgrade. */
async function trustRows({ sql, stamps, keyId }: { sql: Pool; stamps: Stamps; keyId: string }, tellProgress?: (soFar: Restamped) => void) {
  const totals = (await restampAll(sql, stamps, keyId, "what does not hold", tellProgress)).map(({ table, column, stamped }) => ({ table, column, stamped }));
  await writeMarker(sql, stamps, { trustsUntil: null });
  await tell(sql, "stamps.trusted", { totals });
  return totals;
}

/** The same on the command line, in words. */
export async function trustForAdministrator(sql: Pool, keyring: Keyring, tellLine: Tell) {
  const services = { sql, stamps: createStamps(keyring), keyId: keyring.ids()[0] ?? "" };
  const totals = await trustRows(services, ({ table, column, stamped }) => tellLine(`${table}: ${stamped} of ${column} stamped`));
  await sql`update assignment_policies set applied_up_to = ${MIN_UUID} where applied_up_to is null and deleted_at is null`; // what changed while they were held
  tellLine(
    `Done: ${totals.reduce((sum, { stamped }) => sum + stamped, 0)} rows stamped. Hosts get what is stamped at their next poll, and its admins are let in.`,
  );
}

const tell = (sql: Sql, action: string, details: Record<string, unknown>) =>
  addPlatformEvent(sql, { actor: { type: "server" }, requestId: null }, { action, targetType: "stamps", targetId: "database", details });
