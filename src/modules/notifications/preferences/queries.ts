import type { Sql } from "#db/connect";
import type { Chosen, Preferences, StoredPreferences } from "./rules/preferences";

type StoredRow = Omit<StoredPreferences, "mail"> & { mail: string };

const columns = (sql: Sql) => sql`time_zone as "timeZone", digest_hour as "digestHour", mail::text as mail, version, iso(updated_at) as "updatedAt"`;
const read = (row: StoredRow | undefined): StoredPreferences | undefined => row && { ...row, mail: JSON.parse(row.mail) as Chosen };

/** Returns undefined for a user who has never chosen anything. */
export async function findPreferences(sql: Sql, userId: string) {
  const [row] = await sql<StoredRow[]>`select ${columns(sql)} from notification_preferences where user_id = ${userId}`;
  return read(row);
}

/** Makes the row where there is none, with the defaults, and locks it until the transaction ends. */
export async function lockPreferences(tx: Sql, userId: string) {
  await tx`insert into notification_preferences (user_id) values (${userId}) on conflict do nothing`;
  const [row] = await tx<StoredRow[]>`select ${columns(tx)} from notification_preferences where user_id = ${userId} for update`;
  return read(row);
}

export async function savePreferences(tx: Sql, userId: string, { timeZone, digestHour, mail }: Preferences) {
  const [row] = await tx<StoredRow[]>`
    update notification_preferences
    set time_zone = ${timeZone}, digest_hour = ${digestHour}, mail = ${JSON.stringify(mail)}::text::jsonb, version = version + 1, updated_at = now()
    where user_id = ${userId} returning ${columns(tx)}`;
  return read(row);
}

/** Moves the digest for which notices wait, if any do. */
export const moveDigest = (tx: Sql, userId: string, dueAt: Date) => tx`update digests set due_at = ${dueAt.toISOString()} where user_id = ${userId}`;
