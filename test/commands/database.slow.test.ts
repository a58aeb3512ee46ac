import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { startEmbedded } from "#db/embedded";
import { connectTo } from "../support/server/postgres";
import { newPlace, run } from "../support/server/program";

setDefaultTimeout(300_000);

let place: Awaited<ReturnType<typeof newPlace>>;
beforeAll(async () => {
  place = await newPlace();
});
afterAll(() => place.remove());

const certitude = (...args: string[]) => run(args, place.env);
const user = crypto.randomUUID();

/** An embedded database without a table: a new one is a copy that has every migration. */
async function makeBareDatabase(dataDir: string) {
  const { stop } = await startEmbedded(dataDir, { isBare: true });
  await stop();
}

describe("certitude migrate", () => {
  test("applies what is missing, and --status says so", async () => {
    if (!Bun.env.TEST_DATABASE_URL) await makeBareDatabase(place.env.DATA_DIR ?? "");
    const before = await certitude("migrate", "--status");
    expect(before.code).toBe(0);
    const names = before.out.split("\n").map((line) => line.replace(/^pending /, ""));
    expect(names[0]).toBe("0000_foundation");
    expect(await certitude("migrate", "--check")).toEqual({
      code: 1,
      out: "",
      err: expect.stringMatching(/^(\d+) of \1 migrations are pending, from 0000_foundation on\. certitude migrate applies them\.$/),
    });

    expect(await certitude("migrate")).toEqual({ code: 0, out: names.map((name) => `applied ${name}`).join("\n"), err: "" });
    expect(await certitude("migrate", "--status")).toEqual({ code: 0, out: names.map((name) => `applied ${name}`).join("\n"), err: "" });
    for (const options of [[], ["--check"]]) expect(await certitude("migrate", ...options)).toEqual({ code: 0, out: "The database is up to date.", err: "" });
    expect(await certitude("migrate", "--check", "--status")).toMatchObject({ code: 2 });
  });
});

// The embedded database belongs to one process: there nobody else can write into its ledger.
if (Bun.env.TEST_DATABASE_URL)
  describe("certitude migrate on a database of a newer release", () => {
    test("1 with a sentence, also of --check, and --status names what is not known", async () => {
      const { $client: sql } = connectTo(place.env.DATABASE_URL ?? "");
      await sql`insert into drizzle.__drizzle_migrations (hash, created_at) values ('of a newer one', ${Date.UTC(2100, 0)})`;
      expect((await certitude("migrate", "--status")).out).toEndWith("unknown, made 2100-01-01T00:00:00.000Z for a newer certitude");
      expect(await certitude("migrate")).toEqual({ code: 1, out: "", err: expect.stringContaining("The database was migrated by a newer certitude") });
      expect(await certitude("migrate", "--check")).toEqual({ code: 1, out: "", err: "The database is of a newer certitude. Use that release." });
      await sql`delete from drizzle.__drizzle_migrations where hash = 'of a newer one'`;
      await sql.end();
    });
  });

describe("certitude admin", () => {
  test("grants and revokes platform administration", async () => {
    expect(await certitude("admin", "revoke", user)).toEqual({ code: 1, out: "", err: `There is no user ${user}.` });
    expect(await certitude("admin", "grant", user.toUpperCase())).toEqual({ code: 0, out: `${user} is a platform admin.`, err: "" });
    expect(await certitude("admin", "revoke", user)).toMatchObject({ code: 0, out: expect.stringContaining("is no platform admin any more") });
  });

  test("2 for what is no user id", async () => {
    expect(await certitude("admin", "grant", "ada")).toEqual({ code: 2, out: "", err: '"ada" is not a user id (a UUID).' });
  });

  test("creates an organization with its first admin", async () => {
    const wish = ["admin", "create-organization", "--name", " Analytical Engines ", "--admin-user", user, "--admin-email", "ada@people.example"];
    const { code, out } = await certitude(...wish, "--seat-limit", "3");
    expect(code).toBe(0);
    expect(out).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  });

  test.each([
    ["--name", " ", "--name must be text of 1 to 200 characters."],
    ["--admin-email", "ada", "--admin-email must be an e-mail address."],
    ["--seat-limit", "0", "--seat-limit must be a number of at least 1."],
    ["--admin-user", "ada", '"ada" is not a user id (a UUID).'],
  ])("2 for an organization with %s %j", async (option, value, err) => {
    const wish = { "--name": "Engines", "--admin-user": user, "--admin-email": "ada@people.example", [option]: value };
    expect(await certitude("admin", "create-organization", ...Object.entries(wish).flat())).toEqual({ code: 2, out: "", err });
  });
});

describe("certitude token --staff", () => {
  test("makes the user a platform admin", async () => {
    const { code, out } = await certitude("token", "--staff", "--user", user);
    expect(code).toBe(0);
    expect(out.split(".")).toHaveLength(3);
    expect(await certitude("admin", "revoke", user)).toMatchObject({ code: 0 });
  });
});
