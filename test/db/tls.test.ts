import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import type { Settings } from "#db/connect";
import { isDatabaseAway } from "#db/failures";
import { type Minted, mint } from "#demo/mint";
import { connectTo, startPostgres } from "../support/server/postgres";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";

setDefaultTimeout(300_000);

const directory = mkdtempSync(join(tmpdir(), "certitude-tls-"));
const life = { notBefore: new Date(Date.now() - 3_600_000), notAfter: new Date(Date.now() + 86_400_000) };
const authority = mint({ commonName: "Authority of the test", isCa: true, ...life });
const stranger = mint({ commonName: "Unknown authority", isCa: true, ...life });
const certificate = mint({ commonName: "localhost", dns: ["localhost"], issuer: authority, ...life });
const file = (name: string, text: string) => {
  writeFileSync(join(directory, name), text);
  return encodeURIComponent(join(directory, name));
};
const known = file("known.pem", authority.pem);
const unknown = file("unknown.pem", stranger.pem);

let postgres: Awaited<ReturnType<typeof startPostgres>>;
let front: Awaited<ReturnType<typeof startTlsFront>>;
let proxy: Awaited<ReturnType<typeof startProxy>>;

beforeAll(async () => {
  postgres = await startPostgres();
  front = await startTlsFront(postgres.url, certificate);
  proxy = await startProxy({ host: "127.0.0.1", port: front.port });
});
afterAll(async () => {
  await proxy.stop();
  front.stop();
  await postgres.stop();
  rmSync(directory, { recursive: true });
});

/** Says yes to whoever asks for TLS, as Postgres does, and hands the plain text on to the database of `url`. */
async function startTlsFront(url: string, { pem, privateKey }: Minted) {
  const target = targetOf(url);
  const secured = createTlsServer({ cert: pem, key: privateKey.export({ type: "pkcs8", format: "pem" }) as string }, (socket) => {
    const far = connect(target);
    socket.on("error", () => far.destroy()).pipe(far);
    far.on("error", () => socket.destroy()).pipe(socket);
  });
  const inner = await portOf(secured);
  const plain = createServer((near) => {
    near
      .on("error", () => {})
      .once("data", () => {
        const far = connect(inner, "127.0.0.1");
        far.on("error", () => near.destroy()).pipe(near);
        near.pipe(far);
        near.write("S");
      });
  });
  const port = await portOf(plain);
  const stop = () => [plain, secured].forEach((each) => void each.close());
  return { port, stop };
}

const portOf = (server: Server) => new Promise<number>((resolve) => void server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)));

/** "ok", or why the connection failed. */
async function tryWith(parameters: string, host = "localhost", settings: Settings = {}) {
  const url = new URL(viaPort(postgres.url, proxy.port, host));
  url.search = parameters;
  const db = connectTo(url.href, { max: 1, ...settings });
  const [row] = await db.$client`select 'ok' as said`.catch((error: Error) => [{ said: error.message }]);
  await db.$client.end({ timeout: 1 });
  return row?.said as string;
}

describe("a connection to Postgres over TLS", () => {
  test("is not verified with sslmode=require", async () => {
    expect(await tryWith("sslmode=require")).toBe("ok");
    expect(await tryWith("sslmode=prefer", "127.0.0.1")).toBe("ok");
  });

  test("is verified with an authority: its name too with verify-full", async () => {
    expect(await tryWith(`sslmode=verify-full&sslrootcert=${known}`)).toBe("ok");
    expect(await tryWith(`sslmode=verify-full&sslrootcert=${known}`, "127.0.0.1")).toMatch(/altname|IP/i);
  });

  test("ignores the name with verify-ca, and with require and an authority", async () => {
    expect(await tryWith(`sslmode=verify-ca&sslrootcert=${known}`, "127.0.0.1")).toBe("ok");
    expect(await tryWith(`sslmode=require&sslrootcert=${known}`, "127.0.0.1")).toBe("ok");
  });

  test.each(["verify-full", "verify-ca", "require"])("is refused by an unknown authority with %s", async (mode) => {
    expect(await tryWith(`sslmode=${mode}&sslrootcert=${unknown}`)).toMatch(/certificate|issuer/i);
  });

  test.each(["verify-full", "verify-ca"])("trusts the system's authorities with %s alone", async (mode) => {
    expect(await tryWith(`sslmode=${mode}`)).toMatch(/certificate|issuer/i);
    expect(await tryWith(`sslmode=${mode}&sslrootcert=system`)).toMatch(/certificate|issuer/i);
  });

  test("is thrown away too when it falls silent", async () => {
    const db = connectTo(viaPort(`${postgres.url.split("?")[0]}?sslmode=require`, proxy.port), { max: 1, silence: 2_000 });
    await db.$client`select 1`;
    await Bun.sleep(3_000); // it rests for longer than that
    await db.$client`select 1`;
    proxy.freezeOld();
    const failure = await db.$client`select 1`.then(
      () => undefined,
      (error: Error) => error,
    );
    expect(isDatabaseAway(failure)).toBe(true);
    await Bun.sleep(20);
    await db.$client`select 1`;
    await db.$client.end({ timeout: 1 });
  });
});

describe("a server without TLS", () => {
  test("is refused with sslmode=require and taken with prefer", async () => {
    const plain = await startProxy(targetOf(postgres.url));
    const url = (mode: string) => viaPort(`${postgres.url.split("?")[0]}?sslmode=${mode}`, plain.port);
    const ask = async (mode: string) => {
      const db = connectTo(url(mode), { max: 1 });
      const answer = await db.$client`select 1`.then(
        () => "ok",
        (error: Error) => error.message,
      );
      await db.$client.end({ timeout: 1 });
      return answer;
    };
    expect(await ask("require")).toBe("the server offers no TLS, and sslmode asks for it");
    expect(await ask("prefer")).toBe("ok");
    await plain.stop();
  });
});

describe("a connection string that cannot be meant", () => {
  test.each([
    ["sslmode=bogus", 'DATABASE_URL: sslmode must be one of disable, allow, prefer, require, verify-ca, verify-full, not "bogus".'],
    ["sslmode=verify-full&sslrootcert=/nowhere.pem", 'DATABASE_URL: the file of sslrootcert, "/nowhere.pem", cannot be read.'],
  ])("is refused with a sentence: %s", (parameters, message) => {
    expect(() => connectTo(`postgres://localhost/x?${parameters}`)).toThrow(message);
  });
});
