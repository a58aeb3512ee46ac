import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MAINTENANCE } from "#db/connect";
import { connectTo, startPostgres } from "../support/server/postgres";
import { demoCommands, endServers, newDirectory, newPlace, run, serve } from "../support/server/program";
import { startProxy, targetOf, viaPort } from "../support/server/proxy";
import { openRaw } from "../support/server/raw";
import { figures, sum } from "../support/server/workers";
import { environment, world } from "../support/server/world";

setDefaultTimeout(300_000);
const DEMO = "0193b3c0-0000-7000-8000-00000000d350";

let place: Awaited<ReturnType<typeof newPlace>>;
beforeAll(async () => {
  place = await newPlace();
});
afterEach(endServers);
afterAll(() => place.remove());

/** Starts a server whose metrics this machine may read. */
const serveFigures = () => serve({ ...place.env, TRUSTED_GATEWAYS: "127.0.0.1" });

/** A request of which the server has all but the last byte. */
async function startSlowRequest(url: string) {
  const token = (await run(["token"], place.env)).out;
  const connection = await openRaw(url);
  const body = '{"displayName":"Slow"}';
  const head = `PATCH /users/me/profile HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json`;
  connection.write(`${head}\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`);
  while (sum(await figures(url, "certitude_http_requests_in_flight")) < 2) await Bun.sleep(20); // this question is one of them
  return { ...connection, finish: () => connection.write("}") };
}

describe("certitude serve", () => {
  test("lets a running request end at SIGTERM, takes no new one, and exits 0", async () => {
    const server = serveFigures();
    const url = await server.url();
    expect((await fetch(`${url}/health/ready`)).status).toBe(200);
    const slow = await startSlowRequest(url);
    server.child.kill("SIGTERM");
    await server.says("shutting down");
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
    const server = serveFigures();
    const slow = await startSlowRequest(await server.url());
    server.child.kill("SIGINT");
    await server.says("shutting down");
    expect(await server.exit("SIGTERM")).toMatchObject({ code: 1 });
    expect((await slow.answer()).status).toBe(0);

    const next = serve(place.env);
    expect((await fetch(`${await next.url()}/health/ready`)).status).toBe(200);
    expect(await next.exit("SIGTERM")).toMatchObject({ code: 0 });
  });

  test("1 when its port is taken, before a database is made", async () => {
    const { env, remove } = newDirectory();
    const { code, out, err } = await run(["serve"], { ...env, PORT: String(world.server.port) });
    expect([code, out]).toEqual([1, ""]);
    expect(err).toStartWith(`127.0.0.1:${world.server.port} is not free to listen on: `);
    expect(readdirSync(env.DATA_DIR ?? "")).toEqual(["secrets.json"]);
    await remove();
  });
});

describe("certitude serve --demo", () => {
  test("prints commands that work, last of all, and neither a token nor a request of its own; the second start adds nothing", async () => {
    const seen: unknown[] = [];
    for (const _ of [1, 2]) {
      const server = serve(place.env, "--demo");
      const url = await server.url();
      expect(await server.says("Certitude is ready")).toBe("Certitude is ready. The console, signed in (this link works once, for ten minutes):");
      await server.says(" --token-file ");
      const [link = "", token = "", ask = "", agent = ""] = demoCommands(server.lines);
      expect(link.trim()).toStartWith(`${url}/console/#/enter/`);
      const asked = await Bun.$`sh -c ${`${token} > /dev/null; ${ask}; printf '\\n\\n%s' "$TOKEN"`}`.env(place.env).text();
      const [answer = "", shown = ""] = asked.split("\n\n");
      expect(JSON.parse(answer).items[0]).toMatchObject({ commonName: "www.certitude.example" });
      seen.push(await contentOf(url, shown));
      const ran = await Bun.$`sh -c ${agent}`.nothrow().quiet();
      expect([ran.exitCode, ran.stderr.toString()]).toEqual([0, ""]);
      expect(readFileSync(join(place.env.DATA_DIR ?? "", "demo/ca-bundle.pem"), "utf8")).toContain("BEGIN CERTIFICATE");
      const before = server.lines.slice(
        0,
        server.lines.findIndex((line) => line.startsWith("Certitude is ready")),
      );
      expect(before.filter((line) => line.includes('"route"'))).toEqual([]);
      expect(server.lines.join("\n")).not.toContain("eyJ");
      expect(await server.exit("SIGTERM")).toEqual({ code: 0, err: "" });
    }
    expect(seen[1]).toEqual(seen[0]);
  });

  /** What leaves an event where an agent asks or reports. */
  const BY_AGENTS = new Set(["assignment.reported", "signing-key.created"]);

  /** What the demo organization holds, and the last change but for what its agents did. */
  async function contentOf(url: string, token: string) {
    const headers = { authorization: `Bearer ${token}`, "x-organization-id": DEMO, "x-organization-role": "ORG_ADMIN" };
    const read = async (path: string) => (await (await fetch(`${url}/organizations/${DEMO}${path}`, { headers })).json()) as { items: Item[] };
    type Item = { id: string; action: string };
    const { items } = await read("/certificates?limit=100");
    const events = await read("/audit-events?limit=100");
    expect(items.length).toBeGreaterThan(30);
    return { certificates: items.map((each) => each.id), lastChange: events.items.find(({ action }) => !BY_AGENTS.has(action))?.id };
  }
});

describe("organization headers alone", () => {
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
    expect(JSON.parse(await server.says("retrying"))).toMatchObject({ msg: "database unavailable, retrying", reason: expect.any(String) });
    await proxy.accept();
    if (Bun.env.TEST_DATABASE_URL) {
      expect((await fetch(`${await server.url()}/health/ready`)).status).toBe(200);
      expect(await server.exit("SIGTERM")).toMatchObject({ code: 0 });
      const db = connectTo(postgres.url, MAINTENANCE);
      expect(await db.$client`select 1 from users limit 1`).toBeDefined();
      await db.$client.end();
    } else {
      await server.says("database migrated"); // the embedded engine is one session, and the server would want eight
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
