import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { judgeClock } from "../../src/commands/doctor/clock";
import { needing } from "../support/needing";
import { tlsFilesIn } from "../support/pki/tls-files";
import { startMailServer } from "../support/server/mail-server";
import { connectTo } from "../support/server/postgres";
import { endServers, newPlace, PROGRAM, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);

const mailServer = await startMailServer();
const place = await newPlace();
afterAll(async () => {
  endServers();
  await mailServer.stop();
  await place.remove();
});

type Finding = { part: string; state: string; message: string };
async function examine(env: Record<string, string> = {}) {
  const { code, out } = await run(["doctor", "--json"], { ...place.env, ...env });
  const findings: Finding[] = JSON.parse(out);
  return { code, states: Object.fromEntries(findings.map(({ part, state }) => [part, state])), findings };
}
const messageOf = ({ findings }: { findings: Finding[] }, part: string) => findings.find((each) => each.part === part)?.message;

describe("certitude doctor", () => {
  test("0 on what needs nothing, a line for each part; and leaves no object and no key behind", async () => {
    await run(["migrate"], place.env);
    const { code, out, err } = await run(["doctor"], place.env);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const parts = out.split("\n").map((line) => line.split(/\s+/)[1]);
    expect(parts).toEqual(["configuration", "database", "migrations", "clock", "keys", "domain", "stamps", "tokens", "gateway", "tls", "mail", "storage"]);
    expect(out).toContain("✓ migrations     All ");
    expect(existsSync(join(place.env.DATA_DIR ?? "", "objects"))).toBe(true);
    if (!place.env.DATABASE_URL) return;
    const { $client: sql } = connectTo(place.env.DATABASE_URL);
    expect(await sql`select from secret_keys`).toHaveLength(0);
    await sql.end();
  });

  test("1 where the configuration has a fault, which it names, and looks no further", async () => {
    const { code, findings } = await examine({ PORT: "x" });
    expect({ code, findings }).toEqual({
      code: 1,
      findings: [{ part: "configuration", state: "failed", message: 'PORT must be a number from 0 to 65535, not "x".' }],
    });
  });

  test("tries the mail server, and says what is wrong", async () => {
    const mail = { MAIL_FROM: "ops@example.org", PUBLIC_URL: "https://certitude.example" };
    expect((await examine({ ...mail, SMTP_URL: mailServer.url })).states).toMatchObject({ mail: "ok" });
    const away = await examine({ ...mail, SMTP_URL: "smtp://127.0.0.1:1" });
    expect(away).toMatchObject({ code: 1, states: { mail: "failed", storage: "ok" } });
    expect(messageOf(away, "mail")).toBe(
      "127.0.0.1:1 refuses the connection. Mails wait meanwhile. See that SMTP_URL names the mail server, and that it lets this machine in.",
    );
  });

  test("warns of gateways without a secret", async () => {
    const open = await examine({ TRUSTED_GATEWAYS: "10.0.0.1" });
    expect(open).toMatchObject({ code: 0, states: { gateway: "warning" } });
    expect(messageOf(open, "gateway")).toContain("Set GATEWAY_SECRET");
    expect((await examine({ TRUSTED_GATEWAYS: "10.0.0.1", GATEWAY_SECRET: "x".repeat(32) })).states).toMatchObject({ gateway: "ok" });
  });

  test("names an identity provider that does not answer", async () => {
    const away = await examine({ OIDC_ISSUER: "http://127.0.0.1:1", JWT_AUDIENCE: "certitude" });
    expect(away).toMatchObject({ code: 1, states: { tokens: "failed", "provider clock": "failed" } });
    expect(messageOf(away, "tokens")).toEndWith(" Until http://127.0.0.1:1 answers, no user token can be verified.");
  });

  test("1 where the key of TLS_CERT is open to every user, with the command that closes it", async () => {
    const files = tlsFilesIn(place.directory);
    files.write("certitude.example");
    chmodSync(files.env.TLS_KEY, 0o644);
    const { code, findings } = await examine(files.env);
    const message = `TLS_KEY: ${files.env.TLS_KEY} is open to every user of this machine (mode 644). chmod o= closes it.`;
    expect({ code, findings }).toEqual({ code: 1, findings: [{ part: "configuration", state: "failed", message }] });
  });

  test("compares the clock with the database's and the identity provider's", async () => {
    for (const [offsetMs, state, words] of [
      [0, "ok", "clock and this machine's agree."],
      [-86_400_000, "failed", "clock is 24 hours behind this machine's"],
      [86_400_000, "failed", "clock is 24 hours ahead of this machine's"],
    ] as const) {
      const date = () => ({ date: new Date(Date.now() + offsetMs).toUTCString() });
      await using provider = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json({}, { headers: date() }) });
      const found = await examine({ OIDC_ISSUER: provider.url.origin, JWT_AUDIENCE: "certitude" });
      expect(found.states).toMatchObject({ clock: "ok", "provider clock": state });
      expect(messageOf(found, "provider clock")).toContain(words);
    }
    expect(judgeClock({ whose: "The database's", aheadMs: -86_400_000 })).toMatchObject({ state: "failed" });
    const stops = { state: "failed", message: expect.stringContaining("nothing that is due by the clock") };
    expect(judgeClock({ whose: "The database's", aheadMs: 432_000_000, stopsJobs: true })).toMatchObject(stops);
    expect(judgeClock({ whose: "The database's", aheadMs: 2_000 })).toMatchObject({ state: "warning" });
  });

  test("says how long the certificate of TLS_CERT is valid", async () => {
    const files = tlsFilesIn(place.directory);
    for (const [days, state, code] of [
      [90, "ok", 0],
      [5, "warning", 0],
      [-0.5, "failed", 1],
    ] as const) {
      files.write("certitude.example", { days, from: -30 });
      expect(await examine(files.env)).toMatchObject({ code, states: { tls: state } });
    }
  });

  test("1 where documents cannot be stored", async () => {
    const other = await newPlace();
    mkdirSync(other.env.DATA_DIR ?? "", { recursive: true, mode: 0o700 });
    writeFileSync(join(other.env.DATA_DIR ?? "", "objects"), "no directory");
    chmodSync(join(other.env.DATA_DIR ?? "", "objects"), 0o600);
    const { code, out } = await run(["doctor"], other.env);
    expect(code).toBe(1);
    expect(out).toMatch(/^✗ storage +Documents cannot be stored in .*: .* Let this user write there, or name another directory by DATA_DIR\.$/m);
    await other.remove();
  });

  test("warns, as serve does, where several organizations share a server whose domain is no one's", async () => {
    const other = await newPlace();
    const look = async (env: Record<string, string> = {}) => {
      const { out } = await run(["doctor", "--json"], { ...other.env, ...env });
      return (JSON.parse(out) as Finding[]).find(({ part }) => part === "domain");
    };
    const add = (name: string) => {
      const id = crypto.randomUUID();
      return run(["admin", "create-organization", "--name", name, "--admin-user", id, "--admin-email", `${id}@people.example`], other.env);
    };
    await run(["migrate"], other.env);
    await add("One");
    expect((await look())?.state).toBe("ok");
    await add("Other");
    expect(await look()).toMatchObject({ state: "warning", message: expect.stringContaining("it does not know its name") });
    const named = { PUBLIC_URL: "https://certs.example.com" };
    expect(await look(named)).toMatchObject({ state: "warning", message: expect.stringContaining("none is named for example.com") });
    const server = serve({ ...other.env, ...named });
    expect(await server.says("Several organizations share this server")).toContain("none is named for example.com");
    await server.exit("SIGTERM");
    await other.remove();
  });

  // The embedded database belongs to one process, and cannot be away.
  if (place.env.DATABASE_URL)
    needing("faketime").test("1 where this machine's clock is a day ahead; a migration that is pending is a warning", async () => {
      const other = await newPlace();
      await run(["migrate"], other.env);
      const { $client: sql } = connectTo(other.env.DATABASE_URL ?? "");
      await sql`delete from drizzle.__drizzle_migrations where id = (select max(id) from drizzle.__drizzle_migrations)`;
      await sql.end();
      const doctor = Bun.spawn(["faketime", "-f", "+1d", PROGRAM, "doctor", "--json"], { env: other.env, stdout: "pipe", stderr: "ignore" });
      const findings: Finding[] = await doctor.stdout.json();
      expect(await doctor.exited).toBe(1);
      expect(messageOf({ findings }, "clock")).toBe(
        "The database's clock is 24 hours behind this machine's: set both by NTP, or certificates and tokens are judged wrongly. Until then the server does nothing that is due by the clock.",
      );
      expect(findings).toContainEqual({ part: "migrations", state: "warning", message: expect.stringMatching(/^1 of \d+ migrations are pending\. /) });
      await other.remove();
    });

  if (place.env.DATABASE_URL)
    test("names a database that has no tables, one of another key, and one that is not there", async () => {
      const other = await newPlace();
      const none = JSON.parse((await run(["doctor", "--json"], other.env)).out) as Finding[];
      expect(none).toEqual(
        expect.arrayContaining([expect.objectContaining({ part: "migrations", state: "warning" }), expect.objectContaining({ part: "keys", state: "unused" })]),
      );
      await other.remove();

      const server = serve(place.env);
      await server.url();
      await server.exit("SIGTERM");
      expect((await examine()).states).toMatchObject({ keys: "ok" });
      const wrong = await examine({ SECRETS_KEY: Buffer.alloc(32, 9).toString("base64") });
      expect(wrong).toMatchObject({ code: 1, states: { keys: "failed", mail: "unused" } });
      expect(messageOf(wrong, "keys")).toContain("SECRETS_KEY is not this database's");

      const away = await examine({ DATABASE_URL: "postgres://postgres@127.0.0.1:1/none" });
      expect(away).toMatchObject({ code: 1, states: { database: "failed", storage: "ok" } });
      expect(messageOf(away, "database")).toContain("ECONNREFUSED 127.0.0.1:1. See that Postgres runs there");
      expect(away.states).not.toHaveProperty("migrations");
    });
  else
    test("says so where a server has the embedded database", async () => {
      const server = serve(place.env);
      await server.url();
      const busy = await examine();
      expect(messageOf(busy, "database")).toContain("is in use by another certitude");
      await server.exit("SIGTERM");
    });
});
