import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newUser } from "../support/server/people";
import { endServers, newDirectory, newPlace, run, serve } from "../support/server/program";
import { allGone, connectToWorker, figures, isOpen, nthWorker, serveWithWorkers, startedWorkers, sum } from "../support/server/workers";
import { environment } from "../support/server/world";

setDefaultTimeout(300_000);

describe("certitude serve --workers", () => {
  const { env, remove } = newDirectory();
  const { JWT_SECRET, SECRETS_KEY } = environment;
  const away = { ...env, DATABASE_URL: "postgres://127.0.0.1:1/nowhere", JWT_SECRET, SECRETS_KEY };
  afterAll(remove);

  test.each([
    ["without DATABASE_URL", env, ["--workers", "2"], "--workers needs DATABASE_URL: the embedded database is one session, for one process."],
    ["with --demo", away, ["--workers", "2", "--demo"], "--demo is for one process: leave --workers out."],
    ["0", away, ["--workers", "0"], "error: option '--workers <number>' argument '0' is invalid. It must be a number from 1 to 64."],
    ["65", away, ["--workers", "65"], "error: option '--workers <number>' argument '65' is invalid. It must be a number from 1 to 64."],
    ["1.5", away, ["--workers", "1.5"], "error: option '--workers <number>' argument '1.5' is invalid. It must be a number from 1 to 64."],
    ["a worker without the others", away, ["--worker", "1"], "--worker is for the processes that --workers starts."],
  ])("2 and a sentence: %s", async (_, given, options, sentence) => {
    const { code, out, err } = await run(["serve", ...options], given);
    expect([code, out, err.split("\n")[0]]).toEqual([2, "", sentence]);
  });
});

// The embedded database is one session.
if (Bun.env.TEST_DATABASE_URL)
  describe("certitude serve --workers 2", () => {
    let place: Awaited<ReturnType<typeof newPlace>>;
    beforeAll(async () => {
      place = await newPlace();
      place.env.TRUSTED_GATEWAYS = "127.0.0.1";
    });
    afterEach(endServers);
    afterAll(() => place.remove());

    const start = (env = {}) => serveWithWorkers({ ...place.env, ...env });

    /** One that the system gives to no other program: those are above 32,767. */
    const freePort = async (): Promise<string> => {
      const port = 20_000 + Math.floor(Math.random() * 12_000);
      return (await isOpen(`http://127.0.0.1:${port}`)) ? freePort() : String(port);
    };

    /** The head of a request whose body, {"displayName":"Slow"}, is still to come. */
    async function slowHead() {
      const { token } = await newUser();
      const lines = ["Host: localhost", `Authorization: Bearer ${token}`, "Content-Type: application/json", "Content-Length: 22"];
      return `PATCH /users/me/profile HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`;
    }

    test("shares the port, logs into one stream, and at SIGTERM lets the requests of both end and exits 0", async () => {
      const server = await start();
      expect(startedWorkers(server).map(({ worker }) => worker)).toEqual([1, 2]);
      const head = await slowHead();
      const slow = await Promise.all([1, 2].map((worker) => connectToWorker(server.at, worker)));
      for (const { begin } of slow) begin(`${head}{"displayName":"Slow"`);
      while (sum(await figures(server.at, "certitude_http_requests_in_flight")) < 3) await Bun.sleep(20);
      server.child.kill("SIGTERM");
      await server.says("shutting down");
      while (await isOpen(server.at)) await Bun.sleep(20);
      for (const { write } of slow) write("}");
      expect(await Promise.all(slow.map(async ({ answer }) => (await answer()).status))).toEqual([200, 200]);
      for (const { close } of slow) close();
      expect(await server.exit()).toEqual({ code: 0, err: "" });
      await allGone(startedWorkers(server));
      expect(server.lines.map((line) => JSON.parse(line)).filter(({ route }) => route === "/users/me/profile")).toHaveLength(2);
    });

    test("ends at once at the second signal, with 1, and its workers too", async () => {
      const server = await start();
      const slow = await connectToWorker(server.at, 1);
      slow.begin(`${await slowHead()}{`);
      while (sum(await figures(server.at, "certitude_http_requests_in_flight")) < 2) await Bun.sleep(20);
      server.child.kill("SIGINT");
      await server.says("shutting down");
      expect(await server.exit("SIGTERM")).toMatchObject({ code: 1 });
      await allGone(startedWorkers(server));
      expect((await slow.answer()).status).toBe(0);
    });

    test("its workers end when it is killed, and the port is free for the next", async () => {
      const PORT = await freePort();
      const server = await start({ PORT });
      expect((await server.exit("SIGKILL")).code).not.toBe(0);
      await allGone(startedWorkers(server));
      const next = await start({ PORT });
      expect((await fetch(`${next.at}/health/ready`)).status).toBe(200);
      expect(await next.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    });

    test("replaces a worker that is killed, while the other answers; 1 with a sentence when it ends again and again", async () => {
      const server = await start();
      const { pid } = await nthWorker(server, 1);
      process.kill(pid, "SIGKILL");
      expect(JSON.parse(await server.says("worker ended"))).toMatchObject({ level: 40, worker: 1, pid, reason: "SIGKILL" });
      expect((await fetch(`${server.at}/health/ready`)).status).toBe(200);
      expect(await nthWorker(server, 3)).toMatchObject({ worker: 1 });
      (await connectToWorker(server.at, 1)).close();
      for (const count of [3, 4, 5, 6, 7]) process.kill((await nthWorker(server, count)).pid, "SIGKILL");
      const err = "Worker 1 ended 6 times shortly after its start, the last time with SIGKILL.";
      expect(await server.exit()).toEqual({ code: 1, err });
      await allGone(startedWorkers(server));
    });

    test("1 with a sentence for a second server on its port, with workers and without; the first goes on", async () => {
      const server = await start();
      const { port: PORT } = new URL(server.at);
      for (const HOST of ["127.0.0.1", "0.0.0.0"])
        for (const options of [[], ["--workers", "2"]]) {
          const { code, err } = await run(["serve", ...options], { ...place.env, PORT, HOST });
          expect([code, err]).toEqual([1, expect.stringContaining(`${HOST}:${PORT} is not free to listen on: `)]);
        }
      expect((await fetch(`${server.at}/health/ready`)).status).toBe(200);
      expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    });

    test("1 where a server without workers has the port", async () => {
      const server = serve(place.env);
      const { port: PORT } = new URL(await server.url());
      const { code, err } = await run(["serve", "--workers", "2"], { ...place.env, PORT });
      expect([code, err]).toEqual([1, expect.stringContaining(`127.0.0.1:${PORT} is not free to listen on: `)]);
      expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    });

    test("of two that start at the same time on one port, one serves and the other ends with 1", async () => {
      const PORT = await freePort();
      const both = [1, 2].map(() => serve({ ...place.env, PORT }, "--workers", "2"));
      const loser = await Promise.race(both.map((each) => each.child.exited.then(() => each)));
      const winner = both.find((each) => each !== loser);
      expect(await loser.exit()).toEqual({ code: 1, err: expect.stringContaining(`127.0.0.1:${PORT} is not free to listen on: `) });
      expect((await fetch(`${await winner?.url()}/health/ready`)).status).toBe(200);
      expect(await winner?.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    });
  });
