import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, readdirSync, rmSync, statfsSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MAINTENANCE } from "#db/connect";
import { call, type Wish } from "../support/server/call";
import { DOCUMENTS, form } from "../support/server/knowledge";
import { sign } from "../support/server/people";
import { connectTo, startPostgres } from "../support/server/postgres";
import { endServers, newDirectory, run, serve } from "../support/server/program";
import { environment, JWT_SECRET } from "../support/server/world";

// As root, because it mounts file systems of a few megabytes and fills them to the last byte.

setDefaultTimeout(300_000);

const EXHAUSTED = { message: "The server has run out of disk, memory or another resource. Try again later." };
const MIB = 1024 * 1024;
const mounts: string[] = [];

async function mount(size: string, options = "mode=0700") {
  const path = mkdtempSync(join(tmpdir(), "certitude-full-"));
  expect(Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${size},${options}`, "tmpfs", path]).exitCode).toBe(0);
  mounts.push(path);
  /** Leaves `left` bytes free. */
  function fillUp(left = 0) {
    const { bavail, bsize } = statfsSync(path);
    const file = openSync(join(path, `filler-${crypto.randomUUID()}`), "w");
    const page = Buffer.alloc(4_096);
    for (let pages = Math.floor((bavail * bsize - left) / page.length); pages > 0; pages--) writeSync(file, page);
    closeSync(file);
  }
  function makeRoom() {
    for (const name of readdirSync(path).filter((each) => each.startsWith("filler"))) rmSync(join(path, name));
  }
  return { path, fillUp, makeRoom };
}

afterAll(async () => {
  endServers();
  for (const path of mounts) {
    Bun.spawnSync(["umount", "--lazy", path]);
    rmSync(path, { recursive: true });
  }
});

const user = crypto.randomUUID();
let token: string;
beforeAll(async () => {
  token = await sign({ sub: user, email: "ada@people.example" });
});

function expectExhausted(answer: Awaited<ReturnType<typeof call>>) {
  expect(answer).toMatchObject({ status: 503, body: EXHAUSTED });
  expect(answer.headers.get("retry-after")).toBe("30");
}

describe("a server whose disk is full", () => {
  test("503 for what it cannot store, in the embedded database and beside it; reading works, and so does everything once there is room", async () => {
    const disk = await mount("250m");
    const { env, remove } = newDirectory();
    const own = { ...env, DATA_DIR: join(disk.path, "data"), JWT_SECRET, PLATFORM_ADMINS: user };
    const organization = await run(["admin", "create-organization", "--name", "Full", "--admin-user", user, "--admin-email", "ada@people.example"], own);
    const url = await serve(own).url();
    const ask = (method: string, path: string, wish: Wish = {}) => call(method, path, { url, token, ...wish, headers: { "x-user-id": user, ...wish.headers } });
    const notice = (headers = {}) => ask("POST", "/users/me/notifications/examples", { body: {}, headers });
    const create = () => ask("POST", "/admin/organizations", { body: { name: "x".repeat(200) } });
    const upload = async () => {
      const sent = await form({ file: new File(["Keys rotate yearly. ".repeat(MIB / 10)], "keys.md"), title: "Keys", organizationId: organization.out });
      return ask("POST", DOCUMENTS, sent);
    };
    expect((await notice()).status).toBe(201);

    disk.fillUp(MIB);
    const free = () => statfsSync(disk.path).bavail;
    const before = free();
    expectExhausted(await upload());
    expect(free()).toBeGreaterThanOrEqual(before - 64); // no half of the file stays

    disk.fillUp();
    let answer = await create();
    for (let index = 0; index < 2_000 && answer.status === 201; index++) answer = await create(); // until the pages at hand are full
    expectExhausted(answer);
    expect((await ask("GET", "/users/me")).status).toBe(200);
    expect((await ask("GET", "/health/live")).status).toBe(200);
    const { code, out } = await run(["doctor"], own);
    expect(code).toBe(1);
    expect(out).toMatch(/^✗ database +.* is in use by another certitude/m);
    expect(out).toMatch(/^✗ storage +Documents cannot be stored in .*: ENOSPC.* Make room there, or move DATA_DIR to a larger disk\.$/m);

    disk.makeRoom();
    expect((await create()).status).toBe(201);
    expect((await upload()).status).toBe(201);
    await remove();
  });
});

if (Bun.env.TEST_DATABASE_URL)
  describe("a Postgres whose disk is full", () => {
    test("503 for a write that a table has no room for, and 201 once it has", async () => {
      const disk = await mount("4m", "mode=0700,uid=postgres");
      const postgres = await startPostgres();
      const { JWT_SECRET: secret, SECRETS_KEY } = environment;
      const { env, remove } = newDirectory();
      const own = { ...env, DATABASE_URL: postgres.url, JWT_SECRET: secret, SECRETS_KEY, PLATFORM_ADMINS: user };
      const server = serve(own);
      const url = await server.url();
      const { $client: sql } = connectTo(postgres.url, { ...MAINTENANCE, max: 1 });
      const tablespace = `tiny_${crypto.randomUUID().replaceAll("-", "")}`;
      await sql.unsafe(`create tablespace ${tablespace} location '${disk.path}'`);
      await sql.unsafe(`alter table organizations set tablespace ${tablespace}`);
      const create = () => call("POST", "/admin/organizations", { url, token, headers: { "x-user-id": user }, body: { name: "x".repeat(200) } });
      expect((await create()).status).toBe(201);

      disk.fillUp();
      let answer = await create();
      for (let index = 0; index < 2_000 && answer.status === 201; index++) answer = await create();
      expectExhausted(answer);
      expect((await call("GET", "/health/ready", { url })).status).toBe(200);
      disk.makeRoom();
      expect((await create()).status).toBe(201);

      await server.exit("SIGTERM");
      await sql.unsafe("alter table organizations set tablespace pg_default");
      await sql.unsafe(`drop tablespace ${tablespace}`);
      await sql.end();
      await postgres.stop();
      await remove();
    });
  });
