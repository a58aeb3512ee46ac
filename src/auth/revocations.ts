import { ALONE } from "#cluster/channel";
import type { Sql } from "#db/connect";
import { auditForPlatform } from "#modules/people/audit/queries";

const TOPIC = "token revoked";
const FRESH = 500;
const STALE = 900;
/** Rows of a transaction that commits late must not be missed: each reading goes back this far. */
const OVERLAP = "10 seconds";

/**
 * The signed-out tokens, as every replica sees them within a second: read in the background while tokens are in use. Workers
 * publish each at once.
 */
export function createRevocations(sql: Sql, cluster = ALONE) {
  const revoked = new Map<string, number>();
  cluster.subscribe(TOPIC, ([hash, expires]: [string, number]) => revoked.set(hash, expires));
  let since = "-infinity";
  let readAt = Number.NEGATIVE_INFINITY;
  let reading: Promise<void> | undefined;

  async function read() {
    const startedAt = performance.now();
    const rows = await sql<{ hash: string | null; expires: number; now: string }[]>`
      select encode(token_hash, 'base64') as hash, extract(epoch from expires_at)::float8 * 1000 as expires, at.now
      from (select (now() - ${OVERLAP}::interval)::text as now) at
      left join revoked_tokens on revoked_at > ${since}::timestamptz and expires_at > now()`;
    for (const { hash, expires } of rows) if (hash) revoked.set(hash, expires);
    for (const [hash, expires] of revoked) if (expires < Date.now() - 60_000) revoked.delete(hash);
    since = rows[0]?.now ?? since;
    readAt = startedAt;
  }

  function refresh() {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  async function has(hash: string) {
    const asked = performance.now();
    const age = () => asked - readAt;
    if (age() > STALE) await refresh();
    if (age() > STALE) await refresh(); // the reading that was under way had begun too early
    if (age() > FRESH) refresh().catch(() => {}); // the next caller, who waits for it, gets the failure
    return revoked.has(hash);
  }

  /** Signs the user's token out. */
  async function add(hash: string, expiresAt: Date, userId: string, requestId: string) {
    const by = { actor: { type: "user" as const, id: userId }, requestId };
    await sql`
      with expired as (delete from revoked_tokens where expires_at < now() - interval '1 hour'),
      added as (
        insert into revoked_tokens (token_hash, expires_at) values (decode(${hash}, 'base64'), ${expiresAt.toISOString()}) on conflict do nothing returning 1)
      ${auditForPlatform(sql, by, "user.signed-out", sql`select ${userId}::text, '{}'::jsonb from added`)}`;
    revoked.set(hash, expiresAt.getTime());
    cluster.publish(TOPIC, [hash, expiresAt.getTime()]);
  }

  return { has, add };
}
