import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "#db/embedded";
import { missingParameters } from "#db/session";

setDefaultTimeout(600_000);
const directory = mkdtempSync(join(tmpdir(), "certitude-embedded-"));
afterAll(() => rmSync(directory, { recursive: true }));

describe("startEmbedded", () => {
  const dataDir = join(directory, "data");
  const socket = join(dataDir, ".s.PGSQL.5432");

  test("serves one process a directory: a second one is refused and damages nothing; after a stop it opens again", async () => {
    const first = await startEmbedded(dataDir);
    await first.db.$client`create table kept (id int primary key)`;
    await first.db.$client`insert into kept values (1)`;

    expect(startEmbedded(dataDir)).rejects.toThrow(`DATA_DIR ${dataDir} is in use by another certitude. Stop that one first, or choose another DATA_DIR.`);
    expect(statSync(socket).isSocket()).toBe(true);
    await first.db.$client`insert into kept values (2)`;
    await first.stop();

    if (!existsSync(socket)) writeFileSync(socket, ""); // as a killed process leaves it
    const second = await startEmbedded(dataDir);
    expect(await second.db.$client<{ count: number }[]>`select count(*)::int as count from kept`).toMatchObject([{ count: 2 }]);
    await second.stop();
  });

  test("has the settings of every session, whatever the database's own defaults", async () => {
    const first = await startEmbedded(dataDir);
    await first.db.$client.unsafe("alter database postgres set default_transaction_isolation = serializable");
    await first.db.$client.unsafe("alter database postgres set DateStyle = 'SQL, DMY'");
    await first.stop();
    const second = await startEmbedded(dataDir);
    expect(await missingParameters(second.db.$client)).toEqual([]);
    expect(await second.db.$client<{ jit: string }[]>`select current_setting('jit') as jit`).toMatchObject([{ jit: "off" }]);
    await second.stop();
  });

  test("keeps its files from others", () => {
    expect(statSync(dataDir).mode & 0o777).toBe(0o700);
  });

  test("refuses a directory whose name is too long for a socket, before it makes anything", async () => {
    const long = join(directory, "x".repeat(100));
    expect(startEmbedded(long)).rejects.toThrow(/^DATA_DIR is too long for a Unix socket: ".+" has over 100 bytes\.$/);
    expect(readdirSync(directory)).toEqual(["data"]);
  });

  test("says so when the directory cannot be locked", async () => {
    const broken = join(directory, "broken");
    mkdirSync(join(broken, "lock"), { recursive: true });
    expect(startEmbedded(broken)).rejects.toThrow(
      `DATA_DIR ${broken} cannot be locked: its file lock must be a plain file, in a directory that this user may write.`,
    );
  });
});
