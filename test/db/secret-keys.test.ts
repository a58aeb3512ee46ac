import { afterAll, afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createKeyring } from "#crypto/keyring";
import { migrate } from "#db/migrate";
import { resealAll } from "#db/reseal";
import { SEALED_COLUMNS } from "#db/sealed-columns";
import { checkKeys, retireKeys } from "#db/secret-keys";
import { rotateSecrets } from "#maintenance/rotate";
import { STAMPED_COLUMNS } from "#maintenance/stamped-rows";
import { connectTo, startPostgres } from "../support/server/postgres";
import { addConnection, addSecrets, readSecrets, unmark } from "../support/server/sealed";

setDefaultTimeout(300_000);

const [OLD, NEW, OTHER] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2), Buffer.alloc(32, 3)] as const;
const [old, renewed, other] = [createKeyring([OLD]), createKeyring([NEW, OLD]), createKeyring([OTHER])] as const;
const idOf = (key: Uint8Array) => createKeyring([key]).ids()[0] ?? "";

const postgres = await startPostgres();
const db = connectTo(postgres.url);
const sql = db.$client;
await migrate(sql);
afterAll(async () => {
  await sql.end();
  await postgres.stop();
});
const listed = async () => (await sql`select key_id as id from secret_keys`).map(({ id }) => id).toSorted();

beforeEach(async () => {
  for (let round = 0; round < 3; round++) await addSecrets(sql, old);
});
afterEach(async () => {
  await sql.unsafe(`truncate organizations, secret_keys, ${SEALED_COLUMNS.map(({ table }) => table)} cascade`);
});

/** Columns of bytes that nothing is sealed in: hashes, stamps, what anyone may see, and the check values of the keys themselves. */
const NOT_SEALED = /(^|_)(hash|stamp)$|^(check_value|csr|crl|ocsp_answer|responder_certificate)$/;

test("every column of bytes is listed as sealed, or known not to be", async () => {
  const columns =
    await sql`select table_name || '.' || column_name as name from information_schema.columns where table_schema = 'public' and data_type = 'bytea'`;
  const sealed = columns.map(({ name }) => name).filter((name) => !NOT_SEALED.test(name.split(".")[1]));
  expect(sealed.toSorted()).toEqual(SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`).toSorted());
});

test("each listed column's row is found by a unique index of UUIDs", async () => {
  for (const { table, uniqueKey } of SEALED_COLUMNS) {
    const indexes = await sql<{ columns: string; types: string }[]>`
      select string_agg(attname, ',' order by ordinality) as columns, string_agg(distinct format_type(atttypid, null), ',') as types
      from pg_index, unnest(indkey) with ordinality as part (number, ordinality), pg_attribute
      where indrelid = ${table}::regclass and indisunique and indpred is null and attrelid = indrelid and attnum = number group by indexrelid`;
    expect([...indexes]).toContainEqual({ columns: uniqueKey.join(), types: "uuid" });
  }
});

describe("checkKeys", () => {
  test("leaves a check value, and knows the key from then on", async () => {
    expect(await checkKeys(sql, old)).toBeUndefined();
    expect(await listed()).toEqual([idOf(OLD)]);
    expect(await checkKeys(sql, old)).toBeUndefined();
    expect(await checkKeys(sql, other)).toBe(
      `SECRETS_KEY is not this database's: the key ${idOf(OLD)} seals secrets there, which SECRETS_KEY does not open: it lists only ${idOf(OTHER)}. List every key that is in use, comma-separated; the first one seals.`,
    );
    expect(await listed()).toEqual([idOf(OLD)]);
  });

  test("adds a new key that comes first, and refuses to lose the old one or the new one", async () => {
    await checkKeys(sql, old);
    expect(await checkKeys(sql, renewed)).toBeUndefined();
    expect(await listed()).toEqual([idOf(OLD), idOf(NEW)].toSorted());
    expect(await checkKeys(sql, createKeyring([NEW]))).toContain(idOf(OLD));
    expect(await checkKeys(sql, old)).toContain(idOf(NEW));
  });

  test.each([true, false])("refuses a wrong key on a filled database without a check value, and writes none (values without a key's id: %p)", async (isOld) => {
    if (isOld) await unmark(sql, old, OLD);
    expect(await checkKeys(sql, other)).toStartWith("SECRETS_KEY is not this database's: none of its keys opens the secrets there: it lists only");
    expect(await listed()).toEqual([]);
    expect(await checkKeys(sql, renewed)).toBeUndefined();
    expect(await listed()).toEqual([idOf(OLD), idOf(NEW)].toSorted());
  });

  test("refuses a damaged check value", async () => {
    await checkKeys(sql, old);
    await sql`update secret_keys set check_value = overlay(check_value placing '\\x00'::bytea from 30)`;
    expect(await checkKeys(sql, old)).toContain("which SECRETS_KEY does not open");
  });

  test("takes any key on an empty database", async () => {
    await sql.unsafe(`truncate organizations, ${SEALED_COLUMNS.map(({ table }) => table)} cascade`);
    expect(await checkKeys(sql, other)).toBeUndefined();
    expect(await listed()).toEqual([idOf(OTHER)]);
  });
});

describe("resealAll", () => {
  test.each([true, false])("seals everything with the first key, whatever sealed it (without a key's id: %p), and changes nothing else", async (isOld) => {
    if (isOld) await unmark(sql, old, OLD);
    const before = await readSecrets(sql, old);
    const rows = async () => sql`select id, version, updated_at from connections order by id`;
    const versions = await rows();
    expect(await resealAll(sql, renewed, () => {})).toEqual(SEALED_COLUMNS.map(({ table }) => ({ table, resealed: 3, unreadable: 0 })));
    const after = await readSecrets(sql, createKeyring([NEW]));
    expect(after).toEqual(before.map(({ table, secret }) => ({ table, secret, keyId: idOf(NEW) })));
    expect(after.every(({ secret }) => secret)).toBe(true);
    expect([...(await rows())]).toEqual([...versions]);
    expect(await resealAll(sql, renewed, () => {})).toEqual(SEALED_COLUMNS.map(({ table }) => ({ table, resealed: 0, unreadable: 0 })));
  });

  test("leaves what no key opens, and says how many", async () => {
    await sql`update connections set sealed_secrets = decode(repeat('00', 60), 'hex')`;
    const totals = await resealAll(sql, renewed, () => {});
    expect(totals.find(({ table }) => table === "connections")).toEqual({ table: "connections", resealed: 0, unreadable: 3 });
    expect(totals.find(({ table }) => table === "certificates")).toEqual({ table: "certificates", resealed: 3, unreadable: 0 });
  });

  test("goes on where one was killed, over many pages", async () => {
    const { organizationId } = await addSecrets(sql, old);
    for (let count = 0; count < 1_100; count++) await addConnection(sql, old, organizationId);
    const killed = resealAll(sql, renewed, ({ table, resealed }) => {
      if (table === "connections" && resealed >= 500) throw new Error("killed");
    });
    await expect(killed).rejects.toThrow("killed");
    const ids = async () => (await readSecrets(sql, renewed)).filter(({ table }) => table === "connections").map(({ keyId }) => keyId);
    const half = (await ids()).filter((each) => each === idOf(NEW)).length;
    expect(half).toBeGreaterThanOrEqual(500);
    const rest = await resealAll(sql, renewed, () => {});
    expect(rest.find(({ table }) => table === "connections")?.resealed).toBe(1_104 - half);
    expect(new Set(await ids())).toEqual(new Set([idOf(NEW)]));
  });

  test("never undoes what another server writes meanwhile, and finds what it seals with the old key", async () => {
    const { organizationId } = await addSecrets(sql, old);
    const ids = await Promise.all(Array.from({ length: 300 }, () => addConnection(sql, old, organizationId)));
    const written = new Map<string, string>();
    let isDone = false;
    const writer = (async () => {
      for (let round = 0; !isDone; round++)
        for (const id of ids.slice(0, 20)) {
          const secret = JSON.stringify({ token: `${round}` });
          const sealed = old.seal(secret, `connection-secrets ${organizationId} ${id}`).toString("hex");
          await sql`update connections set sealed_secrets = decode(${sealed}, 'hex') where organization_id = ${organizationId} and id = ${id}`;
          written.set(id, secret);
          if (isDone) break;
        }
    })();
    while (written.size < 20) await Bun.sleep(1);
    await resealAll(sql, renewed, () => {});
    isDone = true;
    await writer;
    await resealAll(sql, renewed, () => {});
    for (const [id, secret] of written) {
      const [row] = await sql`select sealed_secrets as value from connections where id = ${id}`;
      expect(createKeyring([NEW]).unseal(row?.value, `connection-secrets ${organizationId} ${id}`)).toBe(secret);
    }
  });

  test("leaves one event in the platform's audit trail for a rotation, and none where there is one key", async () => {
    await sql`truncate platform_audit_events`;
    await rotateSecrets(sql, { keyring: renewed, secretsFile: undefined }, () => {});
    await rotateSecrets(sql, { keyring: createKeyring([NEW]), secretsFile: undefined }, () => {});
    const events = await sql`select actor, action, target_type as "targetType", target_id as "targetId", details from platform_audit_events`;
    const counts: Record<string, number> = { certificates: 6, certificate_requests: 3, authorities: 3, issuers: 3, connections: 3, idempotency_keys: 3 };
    const restamped = STAMPED_COLUMNS.map(({ table, column }) => ({ table, column, stamped: counts[table] ?? 0, unproven: 0 }));
    const details = { former: [idOf(OLD)], totals: SEALED_COLUMNS.map(({ table }) => ({ table, resealed: 3, unreadable: 0 })), restamped };
    expect([...events]).toEqual([{ actor: { type: "command-line" }, action: "secrets.rotated", targetType: "secret-key", targetId: idOf(NEW), details }]);
  });

  test("lets the old key go, after which it is not asked for", async () => {
    await checkKeys(sql, renewed);
    await resealAll(sql, renewed, () => {});
    await retireKeys(sql, renewed);
    expect(await checkKeys(sql, createKeyring([NEW]))).toBeUndefined();
    expect(await checkKeys(sql, old)).toContain(idOf(NEW));
  });
});
