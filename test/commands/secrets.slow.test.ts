import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createKeyring } from "#crypto/keyring";
import { certificate } from "../support/pki/certificates";
import { call } from "../support/server/call";
import { endServers, newDirectory, newPlace, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);
afterEach(endServers);

const key = (byte: number) => Buffer.alloc(32, byte).toString("base64");
const idOf = (text: string) => createKeyring([Buffer.from(text, "base64")]).ids()[0] ?? "";
type Env = Record<string, string>;

/** Makes an organization on an empty database; answers the headers of its admin. */
async function newAdmin(env: Env) {
  const user = crypto.randomUUID();
  const wish = ["admin", "create-organization", "--name", "Engines", "--admin-user", user, "--admin-email", "ada@people.example"];
  const organization = (await run(wish, env)).out;
  const token = (await run(["token", "--user", user, "--email", "ada@people.example"], env)).out;
  return { organization, token, headers: { "x-organization-id": organization, "x-organization-role": "ORG_ADMIN" } };
}

/** Stores a certificate with its private key for an agent. Returns whether the agent gets that key from a server. */
async function addSecret(url: string, { organization, token, headers }: Awaited<ReturnType<typeof newAdmin>>) {
  const post = async (path: string, body: object) => (await call("POST", `/organizations/${organization}${path}`, { url, token, headers, body })).body;
  const { pem, privateKey } = certificate();
  const privateKeyPem = String(privateKey.export({ type: "pkcs8", format: "pem" }));
  const { imported } = await post("/certificates", { pem, privateKeyPem });
  const agent = await post("/agents", { name: crypto.randomUUID() });
  const server = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
  await post(`/agents/${agent.id}/assignments`, { applicationId: "web", certificateId: imported[0].id, ...server });
  return async (at: string) =>
    (await call("GET", "/agent/assignments", { url: at, token: agent.token })).text.includes(JSON.stringify(privateKeyPem.trim()).slice(1, -1));
}

describe("certitude secrets rotate, with SECRETS_KEY in the environment", () => {
  test("seals with the new key while a server serves; then the old one may go; a wrong key is 2", async () => {
    const { env, remove } = await newPlace();
    const [old, renewed, wrong] = [key(11), key(12), key(13)];
    const under = (SECRETS_KEY: string) => ({ ...env, SECRETS_KEY });
    const admin = await newAdmin(under(old));
    const first = serve(under(old));
    const getsKey = await addSecret(await first.url(), admin);
    expect(await getsKey(await first.url())).toBe(true);
    await first.exit("SIGTERM");
    const refusal = {
      code: 2,
      out: "",
      err: expect.stringContaining(`SECRETS_KEY is not this database's: the key ${idOf(old)} seals secrets there, which SECRETS_KEY does not open`),
    };
    expect(await run(["serve"], under(wrong))).toMatchObject(refusal);
    expect(await run(["secrets", "rotate"], under(wrong))).toMatchObject(refusal);
    expect((await run(["secrets", "rotate"], under(old))).out).toContain(
      "SECRETS_KEY lists one key. To rotate it, put a new one before it: SECRETS_KEY=new,old.",
    );

    const second = serve(under(`${renewed},${old}`));
    const url = await second.url();
    expect(await run(["serve"], under(renewed))).toMatchObject({ code: env.DATABASE_URL ? 2 : 1 });
    const { code, out } = await run(["secrets", "rotate"], under(`${renewed},${old}`));
    expect([code, out.split("\n")]).toEqual([
      0,
      [
        `Sealing with the key ${idOf(renewed)}.`,
        "certificates: 1 resealed",
        "certificates: 1 of stamp stamped",
        "certificates: 1 of status_stamp stamped",
        "assignments: 1 of stamp stamped",
        "members: 1 of stamp stamped",
        "agents: 1 of stamp stamped",
        expect.stringMatching(/^Done: 1 values resealed \(certificates 1, connections 0, ingest_keys 0.*\)\.$/),
        `Nothing is sealed with ${idOf(old)} any more: SECRETS_KEY may drop it. Older backups still need it.`,
      ],
    ]);
    expect(await getsKey(url)).toBe(true);
    await second.exit("SIGTERM");
    expect(await run(["serve"], under(old))).toMatchObject({ code: 2 });
    const third = serve(under(renewed));
    expect(await getsKey(await third.url())).toBe(true);
    await third.exit("SIGTERM");
    await remove();
  });
});

describe("certitude secrets rotate, with secrets that DATA_DIR keeps", () => {
  test("makes the new key itself while the server serves, goes on after a kill, and keeps the former key for older backups", async () => {
    const { env, remove } = newDirectory();
    const file = join(env.DATA_DIR ?? "", "secrets.json");
    const keyOf = () => String(JSON.parse(readFileSync(file, "utf8")).SECRETS_KEY);
    const admin = await newAdmin(env);
    const [old, jwtSecret] = [keyOf(), JSON.parse(readFileSync(file, "utf8")).JWT_SECRET];
    const server = serve(env);
    const url = await server.url();
    const getsKey = await addSecret(url, admin);
    const { code, out } = await run(["secrets", "rotate"], env);
    expect([code, out]).toEqual([0, expect.stringContaining("Done: 1 values resealed")]);
    const renewed = keyOf();
    const former = join(env.DATA_DIR ?? "", `secrets-${idOf(old)}.json`);
    expect(out).toContain(`Older backups still need the former key, which is kept in ${former}`);
    expect([renewed === old, JSON.parse(readFileSync(former, "utf8")).SECRETS_KEY, statSync(former).mode & 0o777, statSync(file).mode & 0o777]).toEqual([
      false,
      old,
      0o600,
      0o600,
    ]);
    expect(JSON.parse(readFileSync(file, "utf8")).JWT_SECRET).toBe(jwtSecret);
    expect([await getsKey(url), await (await addSecret(url, admin))(url)]).toEqual([true, true]);
    await server.exit("SIGKILL");

    const fresh = key(21); // as a rotation leaves it that is killed once it has made its key
    writeFileSync(file, JSON.stringify({ JWT_SECRET: jwtSecret, SECRETS_KEY: `${fresh},${renewed}` }));
    const rest = await run(["secrets", "rotate"], env);
    expect([rest.code, rest.out]).toEqual([0, expect.stringContaining(`Sealing with the key ${idOf(fresh)}.`)]);
    expect([keyOf(), rest.out.includes("Done: 2 values resealed")]).toEqual([fresh, true]);
    const next = serve(env);
    expect(await getsKey(await next.url())).toBe(true);
    await next.exit("SIGTERM");
    expect(existsSync(join(env.DATA_DIR ?? "", "admin.sock"))).toBe(false);
    await remove();
  });
});
