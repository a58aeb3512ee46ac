import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { ALONE } from "#cluster/channel";
import { createKeyring } from "#crypto/keyring";
import { ALL_LEVELS, createStamps, levelOf } from "#crypto/stamps";
import type { Pool } from "#db/connect";
import { migrate } from "#db/migrate";
import { createLog } from "#log/log";
import { rotateSecrets } from "#maintenance/rotate";
import { restampAll, STAMPED_COLUMNS } from "#maintenance/stamped-rows";
import { demandStamps, endTrust, stampsOfCommand, trustForAdministrator } from "#maintenance/stamping";
import { readMarkers, writeMarker } from "#maintenance/stamping-markers";
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
  await restampAll(sql, createStamps(keyring), { choice: "what does not hold", levels: ALL_LEVELS, keyId: keyring.ids()[0] ?? "" });
  await sql`truncate stamping, stamping_levels, platform_audit_events`;
});

/** A server of this database, as far as stamps go. */
function aServer(cluster = ALONE) {
  const services = { sql, stamps: createStamps(keyring), config: { ...world.config, keyring }, log: createLog("silent"), clock: () => new Date(now), cluster };
  return { ...services, services };
}

const forget = (columns = STAMPED_COLUMNS) => sql.unsafe(columns.map(({ table, column }) => `update ${table} set ${column} = null`).join("; "));
/** How many stamps there are of each column, and how many hold. */
const count = async (ring = keyring) =>
  (await restampAll(sql, createStamps(ring), { choice: "what a former key stamped", levels: ALL_LEVELS, keyId: "" })).reduce(
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
    where table_schema = 'public' and column_name ~ '(^|_)stamp$' and table_name not in ('stamping', 'stamping_levels') order by 1`;
  expect(columns.map(({ name }) => name)).toEqual(STAMPED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted());
  const [filled] = await sql.unsafe(`select ${TABLES.map((table) => `(select count(*)::int from ${table}) as ${table}`).join(", ")}`);
  expect(Object.values(filled ?? {}).every((each) => Number(each) > 0)).toBe(true);
});

const NEWEST = ALL_LEVELS.slice(-1);

describe("the first start after an upgrade", () => {
  test("stamps what stands there at once, so that an upgrade which does not run through its hour accuses nobody", async () => {
    await forget();
    await demandStamps(aServer().services);
    expect(await count()).toMatchObject({ unproven: 0 });
    now += 30 * 24 * HOUR; // it was stopped at once, and is started again
    const server = aServer();
    expect(await demandStamps(server.services)).toBe(false);
    expect(server.stamps.trusted()).toEqual([]);
    expect(await count()).toMatchObject({ unproven: 0 });
  });

  test("goes on at the next start with what a kill has left", async () => {
    await forget();
    await demandStamps(aServer().services);
    await sql`update members set stamp = null`;
    await demandStamps(aServer().services);
    expect(await count()).toMatchObject({ unproven: 0 });
  });

  test("takes what the release before writes as ordered for an hour, then stamps it and demands stamps", async () => {
    await forget();
    const [first, second] = [aServer(), aServer({ ...ALONE, runsJobs: false })];
    expect([await demandStamps(first.services), await demandStamps(second.services)]).toEqual([true, true]);
    await forget();
    await endTrust(first.services);
    expect(first.stamps.trusted()).toEqual(ALL_LEVELS);
    expect((await count()).unproven).toBeGreaterThan(0);
    now += HOUR;
    await endTrust(second.services);
    expect(second.stamps.trusted()).toEqual(ALL_LEVELS); // the other does the work
    await endTrust(first.services);
    await endTrust(second.services);
    expect([first.stamps.trusted(), second.stamps.trusted()]).toEqual([[], []]);
    expect(await count()).toMatchObject({ unproven: 0 });
    expect(await events()).toEqual(["stamps.trust-began", ...ALL_LEVELS.map(() => "stamps.trusted")]);
    expect(await demandStamps(aServer().services)).toBe(false);
  });

  test("trusts only the level that the release before does not know: what that has stamped is held meanwhile, and stays so", async () => {
    await writeMarker(sql, createStamps(keyring), 1, { trustsUntil: null });
    await forget(STAMPED_COLUMNS.filter(({ kind }) => NEWEST.includes(levelOf(kind))));
    await sql`update members set email = email || '.example'`;
    const server = aServer();
    expect(await demandStamps(server.services)).toBe(true);
    expect(server.stamps.trusted()).toEqual(NEWEST);
    expect([server.stamps.hold(null, ["agent"]), server.stamps.hold(null, ["member"])]).toEqual([true, false]);
    now += HOUR;
    await endTrust(server.services);
    const [members] = await sql`select count(*)::int as count from members`;
    expect(await count()).toMatchObject({ unproven: members?.count });
  });

  test("stamps at the next start what a server that stood still left, but not after a week", async () => {
    await forget();
    await demandStamps(aServer().services);
    await sql`update agents set stamp = null`;
    now += 6 * 24 * HOUR;
    const server = aServer();
    expect(await demandStamps(server.services)).toBe(true);
    await endTrust(server.services);
    expect(await count()).toMatchObject({ unproven: 0 });
  });

  test("begins once, whichever of several servers is first", async () => {
    await forget();
    const servers = Array.from({ length: 4 }, () => aServer());
    expect(await Promise.all(servers.map(({ services }) => demandStamps(services)))).toEqual([true, true, true, true]);
    expect(await events()).toEqual(["stamps.trust-began"]);
    expect(await count()).toMatchObject({ unproven: 0 });
  });

  test("is not to be had again: by a marker of old, a forged one, or none", async () => {
    await forget();
    await demandStamps(aServer().services);
    const began = await sql`select * from stamping`;
    now += HOUR;
    const server = aServer();
    await demandStamps(server.services);
    await endTrust(server.services);
    await sql`update stamping set trusts_until = now() + interval '1 hour'`;
    await sql`update stamping_levels set trusts_until = now() + interval '1 hour'`;
    expect(await demandStamps(aServer().services)).toBe(false);
    await sql`truncate stamping, stamping_levels`;
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
    expect(await readMarkers(fresh, createStamps(keyring))).toEqual(ALL_LEVELS.map((level) => ({ level, marker: { trustsUntil: null } })));
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
    expect(await readMarkers(sql, createStamps(createKeyring([NEW])))).toEqual(ALL_LEVELS.map((level) => ({ level, marker: { trustsUntil: null } })));
    expect(lines).toContain(`rollouts: ${before.unproven} of stamp are left as they are, because no key of SECRETS_KEY made them: such rows are held.`);
  });
});
