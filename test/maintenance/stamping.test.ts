import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { ALONE } from "#cluster/channel";
import { createKeyring } from "#crypto/keyring";
import { createStamps } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { createLog } from "#log";
import { rotateSecrets } from "#maintenance/rotate";
import { restampAll, STAMPED_COLUMNS } from "#maintenance/stamped-rows";
import { demandStamps, endTrust, readMarker, stampsOfCommand, trustForAdministrator } from "#maintenance/stamping";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { exampleRows, fill } from "../support/server/filled";
import { withQueue } from "../support/server/populated-organization";
import { connectTo, startPostgres } from "../support/server/postgres";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);
withQueue();

const HOUR = 3_600_000;
const TABLES = [...new Set(STAMPED_COLUMNS.map(({ table }) => table))];
const KEY = Buffer.alloc(32, 7); // of the world's server, which made the rows
const NEW = Buffer.alloc(32, 8);
const keyring = createKeyring([KEY]);

let sql: Pool;
let stop: () => Promise<void>;
let now = Date.now();

beforeAll(async () => {
  const postgres = await startPostgres();
  sql = connectTo(postgres.url).$client;
  stop = async () => {
    await sql.end();
    await postgres.stop();
  };
  await migrate(sql);
  await fill(sql, await exampleRows());
});
afterAll(() => stop());
beforeEach(async () => {
  now = Date.now();
  await restampAll(sql, createStamps(keyring), keyring.ids()[0] ?? "", "what does not hold");
  await sql`truncate stamping, platform_audit_events`;
});

/** A server of this database, as far as stamps go. */
function aServer(cluster = ALONE) {
  const services = { sql, stamps: createStamps(keyring), config: { ...world.config, keyring }, log: createLog("silent"), clock: () => new Date(now), cluster };
  return { ...services, services };
}

const forget = () => sql.unsafe(STAMPED_COLUMNS.map(({ table, column }) => `update ${table} set ${column} = null`).join("; "));
/** How many stamps there are of each column, and how many hold. */
const count = async (ring = keyring) =>
  (await restampAll(sql, createStamps(ring), "", "what a former key stamped")).reduce(
    (sum, { stamped, unproven }) => ({ held: sum.held + stamped, unproven: sum.unproven + unproven }),
    {
      held: 0,
      unproven: 0,
    },
  );
const events = async () => (await sql`select action from platform_audit_events order by id`).map(({ action }) => action);

test("every column of stamps is known", async () => {
  const columns = await sql`
    select table_name || '.' || column_name as name from information_schema.columns
    where table_schema = 'public' and column_name ~ '(^|_)stamp$' and table_name <> 'stamping' order by 1`;
  expect(columns.map(({ name }) => name)).toEqual(STAMPED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted());
  const [filled] = await sql.unsafe(`select ${TABLES.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(", ")}`);
  expect(Object.values(filled ?? {}).every((each) => Number(each) > 0)).toBe(true);
});

describe("the first start after an upgrade", () => {
  test("trusts what has no stamp for an hour, then stamps it and demands stamps", async () => {
    await forget();
    const [first, second] = [aServer(), aServer({ ...ALONE, runsJobs: false })];
    expect([await demandStamps(first.services), await demandStamps(second.services)]).toEqual([true, true]);
    await endTrust(first.services);
    expect(first.stamps.isTrusting()).toBe(true);
    now += HOUR;
    await endTrust(second.services);
    expect(second.stamps.isTrusting()).toBe(true); // the other does the work
    await endTrust(first.services);
    await endTrust(second.services);
    expect([first.stamps.isTrusting(), second.stamps.isTrusting()]).toEqual([false, false]);
    expect(await count()).toMatchObject({ unproven: 0 });
    expect(await events()).toEqual(["stamps.trust-began", "stamps.trusted"]);
    expect(await demandStamps(aServer().services)).toBe(false);
  });

  test("stamps at the next start what a server that stood still left, but not after a week", async () => {
    await forget();
    await demandStamps(aServer().services);
    now += 6 * 24 * HOUR;
    const server = aServer();
    expect(await demandStamps(server.services)).toBe(true);
    await endTrust(server.services);
    expect(await count()).toMatchObject({ unproven: 0 });
  });

  test("is not to be had again: by a marker of old, a forged one, or none", async () => {
    await forget();
    await demandStamps(aServer().services);
    const began = await sql`select * from stamping`;
    now += HOUR;
    await endTrust(aServer().services);
    await sql`update stamping set trusts_until = now() + interval '1 hour'`;
    expect(await demandStamps(aServer().services)).toBe(false);
    await sql`delete from stamping`;
    expect(await demandStamps(aServer().services)).toBe(false);
    now += 8 * 24 * HOUR;
    await sql`update stamping set trusts_until = ${began[0]?.trusts_until}, stamp = ${began[0]?.stamp}`;
    expect(await demandStamps(aServer().services)).toBe(false);
  });

  test("is as good after a command that made an admin before it", async () => {
    await forget();
    const { log } = aServer();
    const stamps = await stampsOfCommand({ sql, keyring, log });
    const [user] = await sql`select id from users where platform_admin`;
    expect(await grantPlatformAdmin(sql, stamps, user?.id, true)).toBe(true);
    expect(await events()).toEqual(["stamps.trust-began", "platform-admin.granted"]);
    expect(await demandStamps(aServer().services)).toBe(true);
  });

  test("trusts nothing in a database without rows", async () => {
    const postgres = await startPostgres();
    const fresh = connectTo(postgres.url).$client;
    await migrate(fresh);
    expect(await demandStamps({ ...aServer().services, sql: fresh })).toBe(false);
    expect(await readMarker(fresh, createStamps(keyring))).toEqual({ trustsUntil: null });
    await fresh.end();
    await postgres.stop();
  });
});

describe("certitude secrets trust", () => {
  test("stamps what stands there, once an administrator says so", async () => {
    await sql`update assignments set config = '{"alias": "theirs"}'`;
    await sql`update members set role = 'ORG_ADMIN', email = email || '.example', held_since = now()`;
    expect((await count()).unproven).toBeGreaterThan(0);
    const lines: string[] = [];
    await trustForAdministrator(sql, keyring, (line) => lines.push(line));
    expect(await count()).toMatchObject({ unproven: 0 });
    expect(await sql`select from members where held_since is not null`).toHaveLength(0);
    expect(lines.at(-1)).toMatch(/^Done: \d+ rows stamped\. Hosts get what is stamped at their next poll, and its admins are let in\.$/);
    expect(await events()).toEqual(["stamps.trusted"]);
  });
});

describe("a rotation of SECRETS_KEY", () => {
  test("stamps again what the former key stamped, the marker too, and nothing that no key did", async () => {
    await demandStamps(aServer().services);
    await sql`update rollouts set open_ring = open_ring + 1`;
    const before = await count();
    expect(before.unproven).toBeGreaterThan(0);
    const lines: string[] = [];
    await rotateSecrets(sql, { keyring: createKeyring([NEW, KEY]), secretsFile: undefined }, (line) => lines.push(line));
    expect(await count(createKeyring([NEW]))).toEqual(before);
    expect(await readMarker(sql, createStamps(createKeyring([NEW])))).toEqual({ trustsUntil: null });
    expect(lines).toContain(`rollouts: ${before.unproven} of stamp are left as they are, because no key of SECRETS_KEY made them: such rows are held.`);
  });
});
