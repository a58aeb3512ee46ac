import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { openTls, servedName, tlsFilesIn } from "../support/pki/tls-files";
import { demoCommands, endServers, newPlace, run, serve } from "../support/server/program";

setDefaultTimeout(300_000);

let place: Awaited<ReturnType<typeof newPlace>>;
let files: ReturnType<typeof tlsFilesIn>;
beforeAll(async () => {
  place = await newPlace();
  files = tlsFilesIn(place.directory);
  Object.assign(place.env, files.env);
});
afterEach(endServers);
afterAll(() => place.remove());

const LIVE = "GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n";
const fetchFrom = (url: string, ca: string) => fetch(`${url.replace("127.0.0.1", "localhost")}/health/ready`, { tls: { ca } });

type Asked = { answers: number; reset: number };

/**
 * Asks on a connection until an answer tells to open another. One that is reset before its first answer was opened while a listener ended;
 * one that a busy machine left silent for over a second may be closed as idle.
 */
async function askOnOne(at: string, until: AbortSignal, asked: Asked) {
  const socket = await openTls(at);
  let writtenAt = Number.NEGATIVE_INFINITY;
  for (let isKept = true; isKept && !until.aborted; ) {
    const isAwaited = performance.now() - writtenAt < 1_000;
    const answered = Promise.withResolvers<string>();
    socket.once("data", (data) => answered.resolve(data.toString()));
    socket.once("close", () => answered.reject(new Error(isAwaited ? "the server closed a connection that it had told to stay" : RESET)));
    writtenAt = performance.now();
    socket.write(LIVE);
    const answer = await answered.promise;
    if (!answer.startsWith("HTTP/1.1 200")) throw new Error(answer);
    asked.answers++;
    isKept = !/^connection: close\r$/im.test(answer);
    socket.removeAllListeners("close");
  }
  socket.destroy();
}
const RESET = "reset";

/** A client that asks again and again. */
async function askOn(at: string, until: AbortSignal) {
  const asked = { answers: 0, reset: 0 };
  while (!until.aborted)
    await askOnOne(at, until, asked).catch((error: Error & { code?: string }) => {
      if (error.message !== RESET && error.code !== "ECONNRESET") throw error;
      asked.reset++;
    });
  return asked;
}

async function untilServed(at: string, name: string) {
  while ((await servedName(at)) !== name) await Bun.sleep(20);
}

type Server = ReturnType<typeof serve>;
const countChanges = ({ lines }: Server) => lines.filter((line) => line.includes("certificate changed")).length;

/** Replaces the files while clients ask on connections that they keep: none of these is lost. Once each process says so, new ones see the new certificate alone. */
async function replaceWhileAsked(server: Server, at: string, processes = 1) {
  const asking = new AbortController();
  const clients = Array.from({ length: 4 }, () => askOn(at, asking.signal));
  const pem = files.write("second");
  await untilServed(at, "second");
  while (countChanges(server) < processes) await Bun.sleep(20);
  for (let connections = 0; connections < 20; connections++) expect(await servedName(at)).toBe("second");
  asking.abort();
  for (const { answers, reset } of await Promise.all(clients)) {
    expect(answers).toBeGreaterThan(1);
    expect(reset).toBeLessThanOrEqual(processes);
  }
  return pem;
}

describe("certitude serve with TLS_CERT and TLS_KEY", () => {
  test("2 and the sentences where the files cannot be used", async () => {
    const { code, err } = await run(["serve"], { ...place.env, TLS_CERT: "/nowhere/tls.pem" });
    expect([code, err]).toEqual([2, expect.stringContaining("TLS_CERT: /nowhere/tls.pem cannot be read: ENOENT")]);
  });

  test("serves https, also to healthcheck, and changes certificates without losing a connection", async () => {
    const first = files.write("first");
    const server = serve(place.env);
    const url = await server.url();
    expect(url).toStartWith("https://");
    expect((await fetchFrom(url, first)).status).toBe(200);
    await expect(fetch(`${url.replace("https:", "http:")}/health/live`)).rejects.toThrow();
    for (const [host, status] of [
      ["abc", 200],
      ["ab", 400],
    ] as const)
      expect((await fetch(`${url}/health/live`, { headers: { host }, tls: { rejectUnauthorized: false } })).status).toBe(status);
    expect(await run(["healthcheck"], { ...place.env, PORT: new URL(url).port })).toMatchObject({ code: 0, out: "ready" });
    const named = url.replace("127.0.0.1", "localhost");
    const untrusted = expect.stringMatching(/^https:\/\/localhost:\d+\/health\/ready cannot be reached: .*certificate/);
    expect(await run(["healthcheck", "--url", named], place.env)).toEqual({ code: 1, out: "", err: untrusted });
    expect(await run(["healthcheck", "--url", named], { ...place.env, NODE_EXTRA_CA_CERTS: files.env.TLS_CERT })).toMatchObject({ code: 0, out: "ready" });

    expect((await fetchFrom(url, await replaceWhileAsked(server, url))).status).toBe(200);
    expect(JSON.parse(await server.says("certificate changed"))).toMatchObject({ file: files.env.TLS_CERT, subject: expect.stringContaining("second") });
    expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
  });

  test("keeps the former certificate while the files do not fit, and says why", async () => {
    files.write("third");
    const server = serve(place.env);
    const url = await server.url();
    const { pem, key } = files.make("fourth");
    files.put(files.env.TLS_CERT, pem);
    expect(await server.says("the former one still is")).toContain("is not the key of the first certificate");
    expect(await servedName(url)).toBe("third");
    files.put(files.env.TLS_KEY, key);
    await untilServed(url, "fourth");
    await server.exit("SIGTERM");
  });

  test("serves what has expired, and warns", async () => {
    files.write("expired", { days: -0.5 });
    const server = serve(place.env);
    expect(await server.says("the certificate of TLS_CERT has expired on")).toContain("clients will refuse it");
    expect(await servedName(await server.url())).toBe("expired");
    await server.exit("SIGTERM");
  });

  test("serve --demo prints a link and commands that work over https, where the certificate names localhost", async () => {
    const pem = files.write("demo");
    const server = serve(place.env, "--demo");
    const at = (await server.url()).replace("127.0.0.1", "localhost");
    await server.says(" --token-file ");
    const [link = "", token = "", ask = "", agent = ""] = demoCommands(server.lines);
    expect(ask).toContain(`curl -s --cacert ${files.env.TLS_CERT} ${at}/`);
    const asked = await Bun.$`sh -c ${`${token} > /dev/null; ${ask}`}`.env(place.env).text();
    expect(JSON.parse(asked).items[0]).toMatchObject({ commonName: "www.certitude.example" });
    const ran = await Bun.$`sh -c ${agent}`.nothrow().quiet();
    expect([ran.exitCode, ran.stderr.toString()]).toEqual([0, ""]);

    const [page, code] = link.trim().split("/#/enter/");
    expect(page).toBe(`${at}/console`);
    expect((await fetch(`${page}/`, { tls: { ca: pem } })).status).toBe(200);
    const enter = () => fetch(`${page}/sign-in`, { method: "POST", headers: { authorization: `Bearer ${code}` }, tls: { ca: pem } });
    expect([(await enter()).status, (await enter()).status]).toEqual([200, 401]);
    expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
  });

  test("a second server at the same address is refused", async () => {
    files.write("fifth");
    const server = serve(place.env);
    const { port } = new URL(await server.url());
    const second = await run(["serve"], { ...place.env, PORT: port, DATA_DIR: `${place.directory}/second` });
    expect(second).toMatchObject({ code: 1, err: expect.stringContaining(`127.0.0.1:${port} is not free to listen on`) });
    await server.exit("SIGTERM");
  });

  // The embedded database is one session.
  if (Bun.env.TEST_DATABASE_URL)
    test("each worker changes its certificate", async () => {
      files.write("first");
      const server = serve(place.env, "--workers", "2");
      const url = await server.url();
      expect(await servedName(url)).toBe("first");
      await replaceWhileAsked(server, url, 2);
      expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    });
});
