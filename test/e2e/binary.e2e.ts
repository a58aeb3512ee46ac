import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { newPlace, type Place, run, serve } from "../support/server/executable";
import { createScratchDatabase } from "../support/server/world";

setDefaultTimeout(300_000);

const USER = "7b0e2f0a-3c9d-4f55-9a53-0d6d0f6d2c11";
const places: ReturnType<typeof newPlace>[] = [];
afterAll(() => {
  for (const place of places) place.remove();
});

function embedded() {
  const place = newPlace();
  places.push(place);
  return { cwd: place.cwd, dataDir: place.dataDir, env: { DATA_DIR: place.dataDir } };
}

/** A machine with nothing but an address of Postgres and the secrets that this requires. */
async function onPostgres(adminUrl: string) {
  const scratch = await createScratchDatabase(adminUrl);
  const { cwd } = embedded();
  const env = { DATABASE_URL: scratch.url, JWT_SECRET: "a secret of the tests, long enough to sign", SECRETS_KEY: Buffer.alloc(32, 7).toString("base64") };
  return { place: { cwd, env }, drop: scratch.drop };
}

/** Calls of a user over real HTTP. */
const caller =
  (url: string, headers: Record<string, string>) =>
  async (method: string, path: string, { body }: { body?: unknown } = {}) => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    const isJson = text !== "" && answer.headers.get("content-type")?.includes("json");
    // biome-ignore lint/suspicious/noExplicitAny: a test reads whatever the server said
    const json: any = isJson ? JSON.parse(text) : text;
    return { status: answer.status, body: json };
  };

async function prepare(place: Place) {
  const made = await run(place, "admin", "create-organization", "--name", "Example Ltd", "--admin-user", USER, "--admin-email", "ada@certitude.example");
  const created = place.env.DATABASE_URL ? "" : `creating embedded database path=${join(place.env.DATA_DIR ?? "", "postgres")}`;
  expect([made.code, made.stderr]).toEqual([0, created]);
  const minted = await run(place, "token", "--user", USER, "--email", "ada@certitude.example");
  expect([minted.code, minted.stderr]).toEqual([0, ""]);
  const headers = { authorization: `Bearer ${minted.stdout}`, "x-organization-id": made.stdout, "x-organization-role": "ORG_ADMIN" };
  return { organization: `/organizations/${made.stdout}`, headers };
}

/** The main job from the first command to the restart; answers nothing, expects everything. */
async function driveMainJob(place: Place) {
  const { organization, headers } = await prepare(place);
  let server = await serve(place);
  let ask = caller(server.url, headers);

  const imported = await ask("POST", `${organization}/certificates`, { body: { pem: rootCertificates.join("\n") } });
  expect([imported.status, imported.body.imported.length, imported.body.refused]).toEqual([201, rootCertificates.length, []]);
  const again = await ask("POST", `${organization}/certificates`, { body: { pem: rootCertificates[0] } });
  expect([again.status, again.body.duplicates.length]).toEqual([200, 1]);

  const root = { kind: "root", name: "Root", subject: { commonName: "Root" }, keyAlgorithm: "rsa-2048" };
  expect((await ask("POST", `${organization}/authorities`, { body: root })).status).toBe(201); // its key is made by a process of its own

  const expiring = await ask("GET", `${organization}/certs/monitoring/top-expiring?limit=50`);
  expect([expiring.status, expiring.body.items.length]).toEqual([200, 50]);
  const ends = expiring.body.items.map((each: { expiresAt: string }) => each.expiresAt);
  expect(ends).toEqual([...ends].sort());

  const [{ certificateId }] = expiring.body.items;
  const details = await ask("GET", `/portal${organization}/certificates/${certificateId}`);
  expect([details.status, details.body.id, details.body.status, details.body.pem.slice(0, 27)]).toEqual([
    200,
    certificateId,
    "active",
    "-----BEGIN CERTIFICATE-----",
  ]);

  const revoked = await ask("POST", `${organization}/certificates/${certificateId}/revoke`, { body: { reason: "superseded" } });
  expect([revoked.status, revoked.body.status]).toEqual([200, "revoked"]);
  const left = await ask("GET", `${organization}/certs/monitoring/top-expiring?limit=50`);
  expect(JSON.stringify(left.body)).not.toContain(certificateId);
  const audit = await ask("GET", `${organization}/audit-events?limit=1`);
  expect(audit.body.items[0]).toMatchObject({ action: "certificate.revoked", targetId: certificateId, actor: { type: "user", id: USER } });

  expect((await ask("GET", "/swagger/json")).body.openapi).toBe("3.0.3");
  expect((await ask("POST", "/auth/sign-out")).status).toBe(204);
  expect((await ask("GET", "/users/me")).status).toBe(401);
  expect((await run(place, "healthcheck", "--url", `${server.url}/health/ready`)).code).toBe(0);
  expect(await server.stop("SIGTERM")).toBe(0);
  expect((await run(place, "healthcheck", "--url", `${server.url}/health/ready`)).code).toBe(1);

  server = await serve(place);
  const minted = await run(place, "token", "--user", USER); // asks no database, so it works beside the server
  ask = caller(server.url, headers);
  expect((await ask("GET", "/users/me")).status).toBe(401); // signed out before the restart
  ask = caller(server.url, { ...headers, authorization: `Bearer ${minted.stdout}` });
  expect((await ask("GET", `${organization}/certificates/${certificateId}`)).body.status).toBe("revoked");
  expect((await ask("GET", `${organization}/certs/monitoring/top-expiring?limit=50`)).body).toEqual(left.body);
  expect(await server.stop("SIGINT")).toBe(0);
}

/** Writes until it is killed; every write that was answered must be there afterwards. */
async function killWhileWriting(place: Place) {
  const { organization, headers } = await prepare(place);
  const server = await serve(place);
  const ask = caller(server.url, headers);
  const acknowledged: string[] = [];
  const enough = Promise.withResolvers<void>();
  async function write(pem: string) {
    const { status, body } = await ask("POST", `${organization}/certificates`, { body: { pem } });
    if (status === 201) acknowledged.push(body.imported[0].id);
    if (acknowledged.length === 40) enough.resolve();
  }
  const lanes = [0, 1, 2, 3].map(async (lane) => {
    for (const pem of rootCertificates.filter((_, index) => index % 4 === lane)) await write(pem);
  });
  const ends = Promise.allSettled(lanes);
  await enough.promise;
  expect(await server.stop("SIGKILL")).not.toBe(0);
  expect((await ends).some((each) => each.status === "rejected")).toBe(true); // it was in the middle of it

  const restarted = await serve(place);
  const look = caller(restarted.url, headers);
  const statuses = await Promise.all(acknowledged.map(async (id) => (await look("GET", `${organization}/certificates/${id}`)).status));
  expect(statuses).toEqual(acknowledged.map(() => 200));
  expect(await restarted.stop()).toBe(0);
}

describe("the executable with an embedded Postgres, in an empty directory with nothing but DATA_DIR and PORT", () => {
  test("does the main job, ends on SIGTERM with 0, and keeps the data; the directory stays empty", async () => {
    const place = embedded();
    await driveMainJob(place);
    expect(readdirSync(place.cwd)).toEqual([]);
    expect(statSync(join(place.dataDir, "secrets.json")).mode & 0o777).toBe(0o600);
  });

  test("kill -9 loses no write that was answered", () => killWhileWriting(embedded()));

  test("a second server on the same directory says so and ends with 1, and the first goes on", async () => {
    const place = embedded();
    const server = await serve(place);
    const second = await run({ ...place, env: { ...place.env, PORT: "0" } }, "serve");
    expect([second.code, second.stderr]).toEqual([1, expect.stringContaining("in use by another certitude")]);
    expect((await fetch(`${server.url}/health/ready`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
  });

  test("serve --demo fills an organization", async () => {
    const server = await serve(embedded(), "--demo");
    const organization = "0193b3c0-0000-7000-8000-00000000d350";
    const ask = caller(server.url, { "x-organization-id": organization, "x-organization-role": "ORG_MEMBER" });
    const expiring = () => ask("GET", `/organizations/${organization}/certs/monitoring/top-expiring`);
    while (!server.printed.some((line) => line.includes("Certitude is ready"))) await Bun.sleep(50);
    const { body } = await expiring();
    expect(body.items.length).toBe(10);
    expect(body.items[0].commonName).toBe("www.certitude.example");
    expect(await server.stop()).toBe(0);
  });

  test("ends with 0 when it is stopped while it fills the demo, and the next start completes it", async () => {
    const place = embedded();
    for (const wait of [0, 300, 900]) {
      const server = await serve(place, "--demo");
      await Bun.sleep(wait);
      expect(await server.stop()).toBe(0);
    }
    const server = await serve(place, "--demo");
    while (!server.printed.some((line) => line.includes("Certitude is ready"))) await Bun.sleep(50);
    expect(await server.stop()).toBe(0);
  });
});

describe("the executable, whatever lies in its directory", () => {
  test("reads no .env, bunfig.toml, tsconfig.json or package.json", async () => {
    const place = embedded();
    for (const name of [".env", ".env.local", ".env.production", ".env.development"])
      writeFileSync(join(place.cwd, name), "LOG_LEVEL=nonsense\nJWT_SECRET=short\nHOST=203.0.113.1\nDATABASE_URL=nonsense\n");
    writeFileSync(join(place.cwd, "bunfig.toml"), 'preload = ["./trap.ts"]\n');
    writeFileSync(join(place.cwd, "tsconfig.json"), '{ "compilerOptions": { "paths": { "*": ["./trap.ts"] } } }');
    writeFileSync(join(place.cwd, "package.json"), '{ "imports": { "#*": "./trap.ts" }, "type": "commonjs" }');
    writeFileSync(join(place.cwd, "trap.ts"), 'await Bun.write("sprung", ""); process.exit(3);\n');
    const server = await serve(place);
    expect(server.url).toStartWith("http://127.0.0.1:");
    expect(await server.stop()).toBe(0);
    expect(readdirSync(place.cwd)).not.toContain("sprung");
  });

  test("names every fault of its environment at once and ends with 2", async () => {
    const place = embedded();
    const { code, stderr } = await run({ ...place, env: { ...place.env, PORT: "nonsense", LOG_LEVEL: "loud" } }, "serve");
    expect(code).toBe(2);
    expect(stderr.split("\n").length).toBe(2);
  });

  test.each([
    [[], 0],
    [["--version"], 0],
    [["serve", "--help"], 0],
    [["brew"], 2],
    [["serve", "--coffee"], 2],
    [["admin", "create-organization"], 2],
  ])("%p ends with %d", async (args, code) => {
    expect((await run(embedded(), ...args)).code).toBe(code);
  });

  test("openapi prints the document without a database", async () => {
    const { code, stdout } = await run({ ...embedded(), env: {} }, "openapi");
    expect([code, JSON.parse(stdout).openapi]).toEqual([0, "3.0.3"]);
  });
});

const adminUrl = Bun.env.TEST_DATABASE_URL;

describe.if(Boolean(adminUrl))("the executable with a Postgres beside it", () => {
  test("does the main job, ends on SIGTERM with 0, and keeps the data", async () => {
    const { place, drop } = await onPostgres(adminUrl ?? "");
    await driveMainJob(place).finally(drop);
  });

  test("kill -9 loses no write that was answered", async () => {
    const { place, drop } = await onPostgres(adminUrl ?? "");
    await killWhileWriting(place).finally(drop);
  });

  test("serves with two workers, replaces one that is killed, and ends all on SIGTERM with 0", async () => {
    const { place, drop } = await onPostgres(adminUrl ?? "");
    const { organization, headers } = await prepare(place);
    const server = await serve(place, "--workers", "2");
    const ask = caller(server.url, headers);
    const imported = await Promise.all(rootCertificates.map((pem) => ask("POST", `${organization}/certificates`, { body: { pem } })));
    expect(imported.map(({ status }) => status)).toEqual(rootCertificates.map(() => 201));
    const started = () => server.lines.filter(({ msg }) => msg === "worker started");
    expect(started().map(({ worker }) => worker)).toEqual([1, 2]);
    process.kill(Number(started()[1]?.pid), "SIGKILL");
    while (started().length < 3) await Bun.sleep(20);
    expect((await ask("GET", `${organization}/certs/monitoring/top-expiring?limit=50`)).body.items).toHaveLength(50);
    expect(await server.stop("SIGTERM")).toBe(0);
    await drop();
  });

  test("names what it needs beside DATABASE_URL and ends with 2", async () => {
    const { code, stderr } = await run({ ...embedded(), env: { DATABASE_URL: adminUrl ?? "" } }, "serve");
    expect([code, stderr]).toEqual([2, expect.stringContaining("SECRETS_KEY is required")]);
  });
});
