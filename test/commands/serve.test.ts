import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { MAINTENANCE } from "#db/connect";
import { connectTo, startPostgres } from "../support/server/postgres";
import { endServers, newDirectory, newPlace, run, serve } from "../support/server/program";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";
import { openRaw } from "../support/server/raw";
import { environment, world } from "../support/server/world";

setDefaultTimeout(120_000);

let place: Awaited<ReturnType<typeof newPlace>>;
beforeAll(async () => {
  place = await newPlace();
});
afterEach(endServers);
afterAll(() => place.remove());

/** A request whose last byte is still to come. */
async function startSlowRequest(url: string) {
  const token = (await run(["token"], place.env)).out;
  const connection = await openRaw(url);
  const body = '{"displayName":"Slow"}';
  const head = `PATCH /users/me/profile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`;
  connection.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
  await Bun.sleep(200);
  return { ...connection, finish: () => connection.write("}") };
}

describe("certitude serve", () => {
  test("lets a running request end at SIGTERM, takes no new one, and exits 0", async () => {
    const server = serve(place.env);
    const url = await server.url();
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const slow = await startSlowRequest(url);
    server.child.kill("SIGTERM");
    await server.says("stopping");
    expect(
      await fetch(`${url}/health/live`).then(
        () => "answered",
        () => "refused",
      ),
    ).toBe("refused");
    slow.finish();
    expect(await slow.answer()).toMatchObject({ status: 200 });
    slow.close();
    expect(await server.exit()).toEqual({ code: 0, err: "" });
  });

  test("ends at once at the second signal, and not with 0; the next start finds everything in order", async () => {
    const server = serve(place.env);
    const slow = await startSlowRequest(await server.url());
    server.child.kill("SIGINT");
    await server.says("stopping");
    expect(await server.exit("SIGTERM")).toMatchObject({ code: 1 });
    expect((await slow.answer()).status).toBe(0);

    const next = serve(place.env);
    expect((await fetch(`${await next.url()}/health/ready`)).status).toBe(200);
    expect(await next.exit("SIGTERM")).toMatchObject({ code: 0 });
  });

  test("1 when its port is taken", async () => {
    const { code, err } = await run(["serve"], { ...place.env, PORT: String(world.server.port) });
    expect(code).toBe(1);
    expect(err).toStartWith(`127.0.0.1:${world.server.port} is not free to listen on: `);
  });

  test("--demo prints three requests and an agent that work; the second start adds nothing", async () => {
    const seen: unknown[] = [];
    for (const _ of [1, 2]) {
      const server = serve(place.env, "--demo");
      await server.url();
      await server.says("Certitude is ready");
      const printed = () => server.lines.filter((line) => line.trim().startsWith("curl -s "));
      while (printed().length < 3) await Bun.sleep(20);
      const commands = printed();
      const answers = await Promise.all(commands.map((command) => Bun.$`sh -c ${`${command} -w '\n%{http_code}'`}`.text()));
      expect(answers.map((each) => each.slice(-3))).toEqual(["200", "200", "200"]);
      seen.push(await contentOf(commands[0] ?? ""));
      const agent = await Bun.$`sh -c ${await server.says(" agent --server ")}`.nothrow().quiet();
      expect([agent.exitCode, agent.stderr.toString()]).toEqual([0, ""]);
      expect(readFileSync(join(place.env.DATA_DIR ?? "", "demo/ca-bundle.pem"), "utf8")).toContain("BEGIN CERTIFICATE");
      expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    }
    expect(seen[1]).toEqual(seen[0]);
  });

  /** What the demo organization holds, and the last change but for agents' reports; asked as its printed request asks. */
  async function contentOf(command: string) {
    const headers = Object.fromEntries([...command.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(([, name = "", value = ""]) => [name, value]));
    const base = command
      .trim()
      .split(" ")
      .at(-1)
      ?.replace(/\/certs\/.*/, "");
    const { items } = (await (await fetch(`${base}/certificates?limit=100`, { headers })).json()) as { items: { id: string }[] };
    const events = (await (await fetch(`${base}/audit-events?limit=100`, { headers })).json()) as { items: { id: string; action: string }[] };
    expect(items.length).toBeGreaterThan(30);
    return { certificates: items.map((each) => each.id), lastChange: events.items.find(({ action }) => action !== "assignment.reported")?.id };
  }
});

describe("organization headers alone", () => {
  const DEMO = "0193b3c0-0000-7000-8000-00000000d350";
  const TRUSTED = "the demo trusts programs on this machine (127.0.0.1, ::1) by organization headers alone: put no proxy in front of it";
  let own: Awaited<ReturnType<typeof newPlace>>;
  beforeAll(async () => {
    own = await newPlace();
  });
  afterAll(() => own.remove());

  /** What a server answers to headers alone, and what it logs of the demo before it serves. */
  async function startAndAsk(env: Record<string, string>, ...options: string[]) {
    const server = serve({ ...own.env, ...env }, ...options);
    const url = await server.url();
    const said = server.lines.flatMap((line) => (line.includes("the demo trusts") ? JSON.parse(line).msg : []));
    if (options.length > 0) await server.says("Certitude is ready");
    const headers = { "x-organization-id": DEMO, "x-organization-role": "ORG_ADMIN" };
    const { status } = await fetch(`${url}/organizations/${DEMO}/certs/monitoring/top-expiring`, { headers });
    const metrics = await fetch(`${url}/metrics`);
    expect(await server.exit("SIGTERM")).toMatchObject({ code: 0 });
    return { said, answers: [status, metrics.status] };
  }

  test("200 on the demo, which says so in one line, and again at its second start", async () => {
    for (const _ of [1, 2]) expect(await startAndAsk({}, "--demo")).toEqual({ said: [TRUSTED], answers: [200, 200] });
  });

  test("403 without --demo, though the database is the demo's", async () => {
    expect(await startAndAsk({})).toEqual({ said: [], answers: [403, 401] });
  });

  test("403 on the demo where TRUSTED_GATEWAYS names another machine, and the log says so", async () => {
    const said = ["the demo trusts nobody else by organization headers alone: TRUSTED_GATEWAYS names who is trusted"];
    expect(await startAndAsk({ TRUSTED_GATEWAYS: "192.0.2.1" }, "--demo")).toEqual({ said, answers: [403, 401] });
    expect(await startAndAsk({ TRUSTED_GATEWAYS: "127.0.0.1" }, "--demo")).toEqual({ said, answers: [200, 200] });
  });

  test("403 on the demo once the database holds another organization, and the log says so", async () => {
    const admin = ["--admin-user", crypto.randomUUID(), "--admin-email", "ada@certitude.example"];
    expect(await run(["admin", "create-organization", "--name", "Example Ltd", ...admin], own.env)).toMatchObject({ code: 0 });
    const said = ["the demo trusts nobody by organization headers alone: the database holds other organizations than the demo's"];
    expect(await startAndAsk({}, "--demo")).toEqual({ said, answers: [403, 401] });
  });
});

describe("certitude serve with DATABASE_URL", () => {
  test("tries again while the database is away, and serves once it is there", async () => {
    const postgres = await startPostgres();
    const proxy = await startProxy(targetOf(postgres.url));
    await proxy.refuse();
    const { JWT_SECRET, SECRETS_KEY } = environment;
    const { env, remove } = newDirectory();
    const server = serve({ ...env, DATABASE_URL: viaPort(postgres.url, proxy.port), JWT_SECRET, SECRETS_KEY });
    expect(JSON.parse(await server.says("trying again"))).toMatchObject({ msg: "the database is away, trying again", reason: expect.any(String) });
    await proxy.accept();
    if (Bun.env.TEST_DATABASE_URL) {
      expect((await fetch(`${await server.url()}/health/ready`)).status).toBe(200);
      expect(await server.exit("SIGTERM")).toMatchObject({ code: 0 });
      const db = connectTo(postgres.url, MAINTENANCE);
      expect(await db.$client`select 1 from users limit 1`).toBeDefined();
      await db.$client.end();
    } else {
      await server.says("migrated"); // the embedded engine is one session, and the server would want eight
      expect((await server.exit("SIGKILL")).code).not.toBe(0);
    }
    await proxy.stop();
    await postgres.stop();
    await remove();
  });
});

describe("certitude serve without DATABASE_URL", () => {
  test("1 for a second process on the same DATA_DIR, which leaves the first alone", async () => {
    const { env, remove } = newDirectory();
    const first = serve(env);
    const url = await first.url();
    const err = `DATA_DIR ${env.DATA_DIR} is in use by another certitude. Stop that one first, or choose another DATA_DIR.`;
    expect(await run(["serve"], env)).toEqual({ code: 1, out: "", err });
    expect(await run(["migrate"], env)).toEqual({ code: 1, out: "", err });
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    expect(await first.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    await remove();
  });
});
