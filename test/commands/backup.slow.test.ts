import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serveMaintenance } from "#maintenance/tasks";
import { importWithKey } from "../support/server/agents";
import { readBackup } from "../support/server/backups";
import { call } from "../support/server/call";
import { DOCUMENTS } from "../support/server/knowledge";
import { populatedOrganization, withQueue } from "../support/server/populated-organization";
import { endServers, newDirectory, run, serve } from "../support/server/program";
import { createScratchDatabase, environment, world } from "../support/server/world";

setDefaultTimeout(900_000);
withQueue();
afterEach(endServers);

const { JWT_SECRET, SECRETS_KEY, PLATFORM_STAFF_DOMAINS } = environment;
const secrets = { JWT_SECRET, SECRETS_KEY, PLATFORM_STAFF_DOMAINS };
const root = mkdtempSync(join(tmpdir(), "certitude-backup-"));
const source = {
  PATH: Bun.env.PATH ?? "",
  PORT: "0",
  DATA_DIR: world.directory,
  ...secrets,
  ...(world.config.databaseUrl && { DATABASE_URL: world.config.databaseUrl }),
};
let stopTasks = async () => {};
beforeAll(() => {
  stopTasks = serveMaintenance(world.deps); // as serve does for the embedded database, which this process has
});
afterAll(async () => {
  await stopTasks();
  rmSync(root, { recursive: true });
});
const pathOf = (name: string) => join(root, name);

/** Empty places to restore into: an embedded database, and one on the server of TEST_DATABASE_URL. */
async function newTargets() {
  const embedded = newDirectory();
  const targets = [{ env: { ...embedded.env, ...secrets }, remove: embedded.remove }];
  if (!Bun.env.TEST_DATABASE_URL) return targets;
  const [{ url, drop }, other] = [await createScratchDatabase(Bun.env.TEST_DATABASE_URL), newDirectory()];
  const remove = async () => {
    await drop();
    await other.remove();
  };
  return [...targets, { env: { ...other.env, ...secrets, DATABASE_URL: url }, remove }];
}

/** A populated organization, in which an agent gets a private key. */
async function newSource() {
  const everything = await populatedOrganization();
  const { id } = await importWithKey(everything.organization);
  const server = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
  await everything.organization.admin("POST", `/agents/${everything.ids.agentId}/assignments`, {
    body: { applicationId: "web", certificateId: id, ...server },
  });
  const azureId = "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01";
  const config = { vaultUrl: "https://pki.vault.azure.net", tenantId: azureId, clientId: azureId, authMethod: "managed_identity" }; // asked by no test
  const vault = { kind: "azure_key_vault", name: "Ours", config, secrets: { clientSecret: "s3cr3t" } };
  const connection = (await everything.organization.admin("POST", "/core/connections", { body: vault })).body.id as string;
  return { ...everything, connection };
}

/** Invites members until it is stopped: each with its event, by one statement. */
function keepWriting({ organization }: Awaited<ReturnType<typeof newSource>>) {
  let isStopped = false;
  let count = 0;
  const done = (async () => {
    for (; !isStopped; count++) await organization.admin("POST", "/members", { body: { email: `${crypto.randomUUID()}@people.example` } });
  })();
  return {
    async stop() {
      isStopped = true;
      await done;
      return count;
    },
  };
}

const file = pathOf("first");
const made = {} as { everything: Awaited<ReturnType<typeof newSource>> };

describe("certitude backup", () => {
  test("writes one file for its owner alone, in one moment, while others write; and no key", async () => {
    made.everything = await newSource();
    const writer = keepWriting(made.everything);
    await Bun.sleep(200);
    mkdirSync(join(world.directory, "backup-00000000")); // as a killed one leaves it
    const { code, out, err } = await run(["backup", file], source);
    const count = await writer.stop();
    expect([out, err.includes("certificates: ")]).toEqual([
      expect.stringMatching(/^.+first: \d+ rows of \d+ tables, \d+ objects of \d+ bytes\. It does not hold SECRETS_KEY/),
      true,
    ]);
    const { tables, totals, objects } = await readBackup(file);
    expect(code).toBe((totals.missing as string[]).length > 0 ? 1 : 0); // other tests delete objects
    expect([statSync(file).mode & 0o777, readdirSync(root), readdirSync(world.directory).filter((name) => name.startsWith("backup-"))]).toEqual([
      0o600,
      ["first"],
      [],
    ]);
    const text = await Bun.file(file).text();
    for (const secret of [SECRETS_KEY, JWT_SECRET, "s3cr3t"]) expect(text).not.toContain(secret);
    const ofOrganization = (table: string, word: string) =>
      tables[table]?.filter((row) => row.includes(made.everything.organization.id) && row.includes(word)).length;
    expect(ofOrganization("members", "invited")).toBe(ofOrganization("audit_events", "member.invited"));
    expect(ofOrganization("members", "invited")).toBeLessThanOrEqual(count + 1);
    expect(Object.keys(objects)).toContain(`${made.everything.organization.id}.${made.everything.ids.documentId}`);
  });

  test("1 where the file exists, and leaves it as it is", async () => {
    const before = await Bun.file(file).bytes();
    expect(await run(["backup", file], source)).toMatchObject({ code: 1, out: "", err: `${file}: ${file} exists already: a backup overwrites nothing.` });
    expect(Buffer.compare(await Bun.file(file).bytes(), before)).toBe(0);
  });

  test("2 where DATA_DIR holds no database, 1 where the database is not certitude's; and it makes none", async () => {
    const { env, remove } = newDirectory();
    const err = `There is no database in ${env.DATA_DIR}. Is DATA_DIR the right one?`;
    expect(await run(["backup", pathOf("nothing")], env)).toMatchObject({ code: 2, out: "", err: expect.stringContaining(err) });
    expect([env.DATA_DIR ?? "", pathOf("nothing")].filter((path) => existsSync(path))).toEqual([]);
    await remove();
    for (const target of (await newTargets()).filter((each) => "DATABASE_URL" in each.env)) {
      const sentence = expect.stringContaining("There is nothing to back up: the database has no tables of certitude.");
      expect(await run(["backup", pathOf("nothing")], target.env)).toMatchObject({ code: 1, out: "", err: sentence });
      await target.remove();
    }
  });

  test("1 where the directory is not there, and leaves nothing behind", async () => {
    expect(await run(["backup", pathOf("none/file")], source)).toMatchObject({ code: 1, err: expect.stringContaining("ENOENT") });
    expect(readdirSync(world.directory).filter((name) => name.startsWith("backup-"))).toEqual([]);
  });
});

describe("certitude restore", () => {
  test("brings back every row and object elsewhere, embedded and on Postgres, from where it can be backed up and restored again", async () => {
    let previous = file;
    const targets = await newTargets();
    for (const [index, { env }] of targets.entries()) {
      const { tables, objects } = await readBackup(previous);
      expect(await run(["restore", previous], env)).toMatchObject({ code: 0, out: expect.stringContaining("is restored: ") });
      const [untouched, served] = [pathOf(`untouched-${index}`), pathOf(`served-${index}`)];
      await run(["backup", untouched], env);
      const again = await readBackup(untouched);
      for (const [name, rows] of Object.entries(tables).filter(([name]) => !name.startsWith("stamping")))
        expect({ [name]: again.tables[name] }).toEqual({ [name]: rows });
      expect([again.objects, Object.keys(again.tables)]).toEqual([objects, Object.keys(tables)]);
      expect(await run(["restore", previous], env)).toMatchObject({ code: 1, err: expect.stringContaining("The database is not empty: there are rows in ") });

      const server = serve(env);
      await checkService(await server.url());
      const backup = await run(["backup", served], env); // the embedded one is copied by its server
      expect(backup).toMatchObject({ out: expect.stringContaining("It does not hold SECRETS_KEY") });
      await server.exit("SIGTERM");
      expect((await readBackup(served)).objects).toEqual(objects);
      previous = served;
    }
    for (const { remove } of targets) await remove();
  });

  /** Logs in, downloads, and gets what was sealed. */
  async function checkService(url: string) {
    const { user, keys, organization, ids, connection } = made.everything;
    expect((await call("GET", "/users/me", { url, token: user.token })).body).toMatchObject({ id: user.id });
    const link = (await call("GET", `${DOCUMENTS}/${ids.documentId}/download`, { url, token: user.token, headers: { "x-user-id": user.id } })).body.url;
    expect(await (await fetch(link)).text()).toBe("# Keys\n\nKeys rotate yearly.");
    await isIndexed(url);
    expect((await call("GET", "/agent/assignments", { url, token: keys.agentToken })).text).toContain("BEGIN PRIVATE KEY");
    const tested = await call("POST", `/organizations/${organization.id}/core/connections/${connection}/test`, {
      url,
      token: user.token,
      headers: organization.headers("ORG_ADMIN"),
    });
    expect(tested).toMatchObject({ status: 200, body: { outcome: "unsupported" } });
    const found = await call("GET", `/organizations/${organization.id}/knowledge/search?q=rotate`, {
      url,
      token: user.token,
      headers: organization.headers("ORG_ADMIN"),
    });
    expect(found.body.items).not.toEqual([]);
  }
});

/** The document waited for its indexing when it was backed up. */
async function isIndexed(url: string) {
  const { user, ids } = made.everything;
  const read = async () => (await call("GET", `${DOCUMENTS}/${ids.documentId}`, { url, token: user.token, headers: { "x-user-id": user.id } })).body;
  while ((await read()).status !== "ready") await Bun.sleep(100);
}
