import { ALL_LEVELS, type Level, type Stamp, type Stamps } from "#crypto/stamps";
import type { Sql } from "#db/connect";

/** Until when a server takes what has no stamp of a level as ordered; null where stamps are demanded. */
export type Marker = { trustsUntil: Date | null };

const factsOf = (level: Level, until: string | null) => (level === 1 ? (["stamping", until] as const) : (["stamping", level, until] as const));

/** Returns since when stamps of a level are demanded, as the database says and its stamp proves. */
export async function readMarker(sql: Sql, stamps: Stamps, level: Level): Promise<Marker | undefined> {
  const from = level === 1 ? sql`stamping` : sql`stamping_levels where level = ${level}`;
  const [row] = await sql<{ until: string | null; stamp: Stamp }[]>`select iso(trusts_until) as until, stamp from ${from}`;
  if (!row || !stamps.isStamped(row.stamp, factsOf(level, row.until))) return;
  return { trustsUntil: row.until === null ? null : new Date(row.until) };
}

/** Returns each level with its marker, where it has one. */
export async function readMarkers(sql: Sql, stamps: Stamps) {
  const found: { level: Level; marker: Marker | undefined }[] = [];
  for (const level of ALL_LEVELS) found.push({ level, marker: await readMarker(sql, stamps, level) });
  return found;
}

export async function writeMarker(sql: Sql, stamps: Stamps, level: Level, { trustsUntil }: Marker) {
  const until = trustsUntil?.toISOString() ?? null;
  const stamp = stamps.of(factsOf(level, until));
  if (level === 1)
    await sql`
      insert into stamping (trusts_until, stamp) values (${until}, ${stamp})
      on conflict (is_only) do update set trusts_until = excluded.trusts_until, stamp = excluded.stamp`;
  else
    await sql`
      insert into stamping_levels (level, trusts_until, stamp) values (${level}, ${until}, ${stamp})
      on conflict (level) do update set trusts_until = excluded.trusts_until, stamp = excluded.stamp`;
}
