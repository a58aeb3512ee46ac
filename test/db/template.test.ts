import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbedded } from "#db/embedded";
import { migrationStatus } from "#db/migrate";
import { packOnce } from "#db/pack-template";
import { unpack } from "#db/template";

setDefaultTimeout(600_000);
const directory = mkdtempSync(join(tmpdir(), "certitude-template-"));
afterAll(() => rmSync(directory, { recursive: true }));

describe("the database that the executable carries", () => {
  test("was stopped in order, has every migration, and no row of its own", async () => {
    const dataDir = join(directory, "data");
    await unpack(await (await packOnce()).bytes(), join(dataDir, "postgres"));
    expect(readdirSync(join(dataDir, "postgres"))).not.toContain("postmaster.pid");
    const { db, stop } = await startEmbedded(dataDir);
    const { migrations, unknown } = await migrationStatus(db.$client);
    expect([migrations.filter((each) => !each.applied), unknown]).toEqual([[], []]);
    const filled = await db.$client`
      select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'
        and (xpath('/row/count/text()', query_to_xml(format('select count(*) as count from %I', table_name), false, true, '')))[1]::text <> '0'`;
    expect([...filled]).toEqual([]);
    await stop();
  });

  test("a creation that was interrupted is begun again", async () => {
    const dataDir = join(directory, "interrupted");
    const unfinished = join(dataDir, "postgres.new");
    mkdirSync(unfinished, { recursive: true });
    writeFileSync(join(unfinished, "PG_VERSION"), "18\n");
    const { db, stop } = await startEmbedded(dataDir);
    expect(await db.$client<{ one: number }[]>`select 1 as one`).toMatchObject([{ one: 1 }]);
    expect(readdirSync(dataDir)).not.toContain("postgres.new");
    await stop();
  });
});
