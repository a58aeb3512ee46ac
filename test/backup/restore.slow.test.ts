import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { backupFacts, createEncoder, readFrames } from "#backup/format";
import { parseRecord } from "#backup/record";
import { restoreBackup } from "#backup/restore";
import { verifyBackup } from "#backup/verify";
import { writeBackup } from "#backup/write";
import { ALONE } from "#cluster/channel";
import { createKeyring } from "#crypto/keyring";
import { ALL_LEVELS, createStamps } from "#crypto/stamps";
import { MAINTENANCE } from "#db/connect";
import { migrate, migrateWithin, migrationStatus } from "#db/migrate";
import { createLog } from "#log/log";
import { demandStamps, stampRestored } from "#maintenance/stamping";
import { readMarkers } from "#maintenance/stamping-markers";
import { addAdmin, given } from "#modules/people/members/queries/members";
import { memberFacts } from "#modules/people/roles/queries";
import { saveUser } from "#modules/people/users/queries";
import { createFileStore } from "#storage/files";
import { readBackup } from "../support/server/backups";
import { wrongCounts } from "../support/server/counts";
import { connectTo, startPostgres } from "../support/server/postgres";
import { addSecrets } from "../support/server/sealed";
import { world } from "../support/server/world";

setDefaultTimeout(300_000);
const root = mkdtempSync(join(tmpdir(), "certitude-restore-"));
const keyring = createKeyring([Buffer.alloc(32, 1)]);
const store = createFileStore(join(root, "objects"), keyring);
const ended: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const each of ended) await each();
  rmSync(root, { recursive: true });
});

async function newDatabase() {
  const postgres = await startPostgres();
  const { $client: sql } = connectTo(postgres.url, MAINTENANCE);
  ended.push(async () => {
    await sql.end();
    await postgres.stop();
  });
  return sql;
}
type Sql = Awaited<ReturnType<typeof newDatabase>>;

const objects = (key: string) => store.get(key);
const quietly = () => {};
const write = (path: string, sql: Sql) => writeBackup(path, sql, createStamps(keyring), objects, quietly);
const restore = async (path: string, sql: Sql, finish = async () => {}, to = store) =>
  restoreBackup(path, await verifyBackup(path, keyring), { sql, store: to, report: quietly, finish });

/** A document with its object, by hand. */
async function addDocument(sql: Sql, organizationId: string) {
  const [id, bytes] = [Bun.randomUUIDv7(), Buffer.from("# Keys")];
  const key = `${organizationId}.${id}`;
  await store.put(key, bytes);
  const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
  await sql`insert into documents (organization_id, id, title, file_name, media_type, size, sha256, object_key)
    values (${organizationId}, ${id}, 'Keys', 'keys.md', 'text/markdown', 6, ${sha256}, ${key})`;
  return key;
}

const source = await newDatabase();
await migrate(source);
const { organizationId } = await addSecrets(source, keyring);
const objectKey = await addDocument(source, organizationId);
const stamps = createStamps(keyring);
const adminId = Bun.randomUUIDv7();
await saveUser(source, { userId: adminId, email: "ada@example.org", name: null });
await addAdmin(source, stamps, { organizationId, actor: { type: "command-line" }, requestId: null }, { userId: adminId, email: "ada@example.org" });
await source`create table metric_samples_2020_01 partition of metric_samples for values from ('2020-01-01') to ('2020-02-01')`;
await source`insert into metric_samples values (${organizationId}, gen_random_uuid(), 'accuracy', '2020-01-15', '{}', 1, 0.1, null)`;
const file = join(root, "whole");
await write(file, source);

describe("a record", () => {
  test("is read as Postgres writes it, whatever its characters", async () => {
    const alphabet = ['"', "\\", ",", "(", ")", " ", "\n", "\t", "ü", "😀", "a", "'", "{", "N"];
    for (let round = 0; round < 200; round++) {
      const text = () => Array.from({ length: Math.floor(Math.random() * 6) }, () => alphabet[Math.floor(Math.random() * alphabet.length)]).join("");
      const fields = Array.from({ length: 1 + Math.floor(Math.random() * 4) }, () => (Math.random() < 0.2 ? null : text()));
      const values = fields.map((_, index) => `$${index + 1}::text`).join(", ");
      const [row] = await source.unsafe(`select row(${values})::text as record`, fields);
      if (fields.length > 1 || fields[0] !== null) expect(parseRecord(row?.record)).toEqual(fields);
    }
  });
});

describe("restoreBackup", () => {
  test("brings back rows, partitions, sequences and objects", async () => {
    const [target, again] = [await newDatabase(), join(root, "again")];
    const elsewhere = createFileStore(join(root, "elsewhere"), keyring);
    await restore(file, target, undefined, elsewhere);
    expect(await (await elsewhere.get(objectKey))?.text()).toBe("# Keys");
    await write(again, target);
    expect(await readBackup(again)).toEqual(await readBackup(file));
    expect([...(await target`select count(*)::int as count from metric_samples_2020_01`)]).toEqual([{ count: 1 }]);
    expect([await wrongCounts(source), await wrongCounts(target)]).toEqual([{}, {}]);
    const counted = async (sql: Sql) => [...(await sql`select sum(change)::int as counted from certificate_changes`)];
    expect(await counted(target)).toEqual(await counted(source));
  });

  test("leaves neither row nor object where it fails at the very end", async () => {
    const target = await newDatabase();
    const elsewhere = createFileStore(join(root, "failed"), keyring);
    const failure = restore(file, target, () => Promise.reject(new Error("at the very end")), elsewhere);
    await expect(failure).rejects.toThrow("at the very end");
    expect(await Array.fromAsync(elsewhere.list())).toEqual([]);
    const [left] = await target`select count(*)::int as count from pg_tables where schemaname = 'public'`;
    expect(left).toMatchObject({ count: 0 });
    await restore(file, target, undefined, elsewhere);
  });

  test("takes a database that was migrated and not used, and refuses one with a single row", async () => {
    const target = await newDatabase();
    await migrate(target);
    await target`insert into users (id) values (gen_random_uuid())`;
    await expect(restore(file, target)).rejects.toThrow("The database is not empty: there are rows in users. A backup is restored into an empty one only.");
    await target`delete from users`;
    await restore(file, target);
  });

  test("brings a backup of an earlier schema up to date", async () => {
    const [old, target, path] = [await newDatabase(), await newDatabase(), join(root, "earlier")];
    const ledger = (await source`select created_at::text as at from drizzle.__drizzle_migrations order by 1`).map(({ at }) => Number(at));
    const level = ledger.slice(0, 14);
    await old.begin((tx) => migrateWithin(tx, level));
    await old`insert into organizations (id, name) values (${Bun.randomUUIDv7()}, 'Old')`;
    await write(path, old);
    await restore(path, target);
    expect((await migrationStatus(target)).migrations.every(({ applied }) => applied)).toBe(true);
    expect([...(await target`select name from organizations`)]).toEqual([{ name: "Old" }]);
    await expect(restore(path, await migrated())).rejects.toThrow("The database has newer tables than the backup.");
  });

  test("brings back once what the release before writes twice: events of the tail, which it also reads among all events", async () => {
    const [old, target, path] = [await migrated(), await newDatabase(), join(root, "twice")];
    const columns = old.text("organization_id, id, at, actor, action, target_type, target_id");
    await old`alter table audit_tail no inherit audit_events`; // then this release writes the same file
    await old`insert into audit_tail (${columns}) values (${organizationId}, ${Bun.randomUUIDv7()}, now(), '{"type": "server"}', 'widget.created', 'widget', '1')`;
    await old`insert into audit_events (${columns}) select ${columns} from audit_tail`;
    await write(path, old);
    await restore(path, target);
    expect([...(await target`select target_id as id from audit_events`)]).toEqual([{ id: "1" }]);
  });

  async function migrated() {
    const sql = await newDatabase();
    await migrate(sql);
    return sql;
  }
});

type Change = (kind: string, value: Record<string, unknown>) => unknown;

/** The file with frames changed, and a checksum that fits; with the proof of a holder of SECRETS_KEY, where none other is given. */
async function forge(change: Change, prove = (checksum: string) => stamps.of(backupFacts(checksum))) {
  const parts: Buffer[] = [];
  const encoder = createEncoder(async (bytes) => parts.push(Buffer.from(bytes)));
  await encoder.start();
  for await (const { kind, payload } of readFrames(file)) {
    if (kind === "D") await encoder.frame(kind, Buffer.from(payload));
    else await encoder.json(kind, change(kind, JSON.parse(payload.toString())));
  }
  await encoder.end(prove);
  const path = join(root, crypto.randomUUID());
  writeFileSync(path, Buffer.concat(parts));
  return path;
}

describe("a file that was changed by who does not have SECRETS_KEY", () => {
  const none = () => Buffer.alloc(0);
  const stranger = Bun.randomUUIDv7();

  /** A stranger is ORG_ADMIN in the place of the admin, and nothing is said of stamps, as in a database before its upgrade. */
  function withStranger(version: number, prove: (checksum: string) => Buffer) {
    let table = "";
    const changes: Record<string, (value: Record<string, unknown>) => unknown> = {
      H: (value) => ({ ...value, version }),
      T: (value) => {
        table = String(value.name);
        return value;
      },
      R: (value) => (table.startsWith("stamping") ? [] : JSON.parse(JSON.stringify(value).replaceAll(adminId, stranger))),
      Z: (value) => ({ ...value, rows: { ...(value.rows as object), stamping: 0, stamping_levels: 0 } }),
    };
    return forge((kind, value) => changes[kind]?.(value) ?? value, prove);
  }

  test("makes no stranger an ORG_ADMIN: it is refused before anything is restored", async () => {
    const sql = await newDatabase();
    const foreign = createStamps(createKeyring([Buffer.alloc(32, 9)]));
    const forged = (checksum: string) => Buffer.concat([stamps.of(backupFacts(checksum)).subarray(0, 10), foreign.of(backupFacts(checksum)).subarray(10)]);
    await expect(restore(await withStranger(2, forged), sql)).rejects.toThrow("It was changed by who does not have SECRETS_KEY");
    await expect(restore(await withStranger(2, (checksum) => foreign.of(backupFacts(checksum))), sql)).rejects.toThrow("SECRETS_KEY does not open its secrets");
    await expect(restore(await withStranger(2, none), sql)).rejects.toThrow("It is truncated.");
    await expect(restore(await withStranger(1, none), sql)).rejects.toThrow(/^Nothing proves that a server wrote it as it is: .+ --without-proof/);
    expect(await sql`select to_regclass('members') as there`).toEqual([{ there: null }] as never);
  });

  test("is restored where an administrator takes it without a proof, and makes no admin then either: what stamps prove is known to it", async () => {
    const sql = await newDatabase();
    const path = await withStranger(1, none);
    const verified = await verifyBackup(path, keyring, { needsProof: false });
    expect(verified.isProven).toBe(false);
    await restoreBackup(path, verified, { sql, store, report: quietly, finish: (tx) => stampRestored(tx, keyring, verified) });
    const needs = {
      sql,
      stamps: createStamps(keyring),
      config: { ...world.config, keyring },
      log: createLog("silent"),
      clock: () => new Date(),
      cluster: ALONE,
    };
    expect(await demandStamps(needs)).toBe(false);
    const [member] = await sql`select ${given(sql)} from members where user_id = ${stranger}`;
    expect(member?.facts).toMatchObject({ role: "ORG_ADMIN" });
    expect(needs.stamps.hold(member?.stamp, memberFacts(member?.facts))).toBe(false);
  });

  test("of a release that stamped less: what it could not stamp is stamped, so that no host is locked out, and nothing is trusted after that", async () => {
    const sql = await newDatabase();
    const path = await forge((kind, value) => {
      if (kind !== "H") return value;
      const tables = (value.tables as { name: string }[]).filter(({ name }) => name !== "stamping_levels");
      return { ...value, version: 1, tables: [...tables, { name: "stamping_levels", columns: ["level", "trusts_until", "stamp"] }] };
    }, none);
    const verified = await verifyBackup(path, keyring, { needsProof: false });
    const header = { ...verified.header, tables: verified.header.tables.filter(({ name }) => name !== "stamping_levels") };
    await restoreBackup(path, verified, {
      sql,
      store,
      report: quietly,
      async finish(tx) {
        await tx`update connections set stamp = null`;
        await stampRestored(tx, keyring, { header, isProven: false });
      },
    });
    expect(await sql`select from connections where stamp is null`).toHaveLength(0);
    expect(await readMarkers(sql, createStamps(keyring))).toEqual(ALL_LEVELS.map((level) => ({ level, marker: { trustsUntil: null } })));
  });
});

describe("a file whose checksum is right", () => {
  test.each<[string, (kind: string, value: Record<string, unknown>) => unknown, RegExp]>([
    [
      "lacks rows",
      (kind, value) => (kind === "R" && !JSON.stringify(value).includes("keys.md") ? [] : value),
      /^It is damaged: it should hold \d+ rows of \w+, and holds 0\.$/,
    ],
    [
      "has another object than its document says",
      (kind, value) => (kind === "E" ? { sha256: "0".repeat(64) } : value),
      /^The object .+ is not what its document says: its SHA-256 is another\.$/,
    ],
    ["names no table", (kind, value) => (kind === "H" ? { ...value, tables: [] } : value), /^It is damaged: its header does not name the table \w+\.$/],
  ])("is refused when it %s", async (_, change, message) => {
    await expect(verifyBackup(await forge(change), keyring)).rejects.toThrow(message);
  });

  test("is refused when it is of a newer certitude", async () => {
    const path = await forge((kind, value) => (kind === "H" ? { ...value, migrations: [...(value.migrations as number[]), Date.UTC(2100, 0)] } : value));
    await expect(restore(path, await newDatabase())).rejects.toThrow(
      "The backup is of a newer certitude: its database has migrations that this one does not know (made 2100-01-01T00:00:00.000Z).",
    );
  });

  test("runs no statement that it brings along", async () => {
    const bound = "for values from (1) to (2); drop table users";
    const path = await forge((kind, value) => (kind === "H" ? { ...value, partitions: [{ name: "p", parent: "metric_samples", bound }] } : value));
    await expect(restore(path, await newDatabase())).rejects.toThrow("It is damaged: the partition p has no bounds.");
  });
});
