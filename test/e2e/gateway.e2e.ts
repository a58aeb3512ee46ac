import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { newPlace, type Place, run, serve } from "../support/server/executable";
import { startReverseProxy } from "../support/server/reverse-proxy";
import { createScratchDatabase, environment } from "../support/server/world";

setDefaultTimeout(300_000);

const USER = crypto.randomUUID();
const DEMO = "0193b3c0-0000-7000-8000-00000000d350";
const FORWARDING = "proxy_set_header X-Real-IP $remote_addr; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";
/** How an operator puts nginx on the server's own machine, from nothing but the address on. */
const SHAPES = {
  bare: "proxy_pass http://$app;",
  "bare, HTTP/1.1": 'proxy_pass http://$app; proxy_http_version 1.1; proxy_set_header Connection "";',
  "with a slash": "proxy_pass http://$app/;",
  "with the client's Host": "proxy_pass http://$app; proxy_set_header Host $http_host;",
  "with localhost as Host": "proxy_pass http://$app; proxy_set_header Host localhost;",
  "by a group of one letter": "proxy_pass http://a;",
  "with forwarding headers": `proxy_pass http://$app; proxy_set_header Host $host; ${FORWARDING}`,
};

let place: Place;
let organization: string;
let token: string;
const closers: (() => unknown)[] = [];
afterAll(async () => {
  for (const close of closers.toReversed()) await close();
});

beforeAll(async () => {
  const { cwd, dataDir, remove } = newPlace();
  closers.push(remove);
  place = { cwd, env: { DATA_DIR: dataDir } };
  if (Bun.env.TEST_DATABASE_URL) {
    const { url, drop } = await createScratchDatabase(Bun.env.TEST_DATABASE_URL);
    closers.push(drop);
    const { JWT_SECRET, SECRETS_KEY } = environment;
    place = { cwd, env: { DATA_DIR: dataDir, DATABASE_URL: url, JWT_SECRET, SECRETS_KEY } };
  }
  const email = ["--admin-email", "ada@certitude.example"];
  organization = (await run(place, "admin", "create-organization", "--name", "Example Ltd", "--admin-user", USER, ...email)).stdout;
  token = (await run(place, "token", "--user", USER)).stdout;
});

/** The server with `env` added, behind nginx in each of `shapes`. */
async function startBoth<Shape extends string>(env: Record<string, string>, shapes: Record<Shape, string>, ...options: string[]) {
  const server = await serve({ ...place, env: { ...place.env, ...env } }, ...options);
  const proxy = await startReverseProxy(server.url, shapes);
  async function stop() {
    await proxy.stop();
    expect(await server.stop()).toBe(0);
  }
  return { direct: server.url, urls: proxy.urls, [Symbol.asyncDispose]: stop };
}

const claims = (id = organization, role = "ORG_ADMIN") => ({ "x-organization-id": id, "x-organization-role": role });
const statusOf = async (url: string, headers: Record<string, string> = {}, method = "GET") => {
  const body = method === "GET" ? {} : { body: "{}" };
  const answer = await fetch(url, { method, headers: { "content-type": "application/json", ...headers }, ...body });
  await answer.text();
  return answer.status;
};
const expiring = (base: string, id = organization) => `${base}/organizations/${id}/certs/monitoring/top-expiring`;
const certificates = (base: string) => `${base}/organizations/${organization}/certificates`;

describe("nginx before a server that names no gateway", () => {
  test("403 for headers alone in every operation of an organization, 401 for /metrics; 200 with a user token", async () => {
    await using both = await startBoth({ RATE_LIMITS: "address=off" }, SHAPES); // it is refused more often than an address may be
    const { paths } = (await (await fetch(`${both.direct}/swagger/json`)).json()) as { paths: Record<string, Record<string, object>> };
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      path.startsWith("/organizations/") ? Object.keys(methods).map((method) => [method.toUpperCase(), path] as const) : [],
    );
    expect(operations.length).toBeGreaterThan(40);
    for (const base of [both.direct, ...Object.values(both.urls)]) {
      for (const [method, path] of operations) {
        const target = path.replace("{organizationId}", organization).replace(/\{\w+\}/g, () => crypto.randomUUID());
        const expected = path.endsWith("/ingest/metrics") ? 401 : 403;
        expect([base, method, path, await statusOf(base + target, claims(), method)]).toEqual([base, method, path, expected]);
      }
      for (const path of ["/metrics", "/metrics?x", "/zz/../metrics"]) expect([base, await statusOf(base + path)]).toEqual([base, 401]);
      for (const path of ["/z/metrics", "/zz/metrics", "/zzz/metrics"]) expect([base, await statusOf(base + path)]).toEqual([base, 404]);
      expect(await statusOf(expiring(base), { ...claims(), authorization: `Bearer ${token}` })).toBe(200);
    }
  });
});

describe("nginx that TRUSTED_GATEWAYS names", () => {
  const SECRET = "a secret of the gateway that is long enough";
  const NEXT = "the next secret of the gateway that is long enough";
  const portal = (role: string) =>
    `proxy_pass http://$app; proxy_set_header Host $host; ${FORWARDING} proxy_set_header X-Organization-Id ${organization}; proxy_set_header X-Organization-Role ${role};`;

  test("200 in the role that nginx sets, whatever the client sends", async () => {
    await using both = await startBoth({ TRUSTED_GATEWAYS: "127.0.0.1" }, { member: portal("ORG_MEMBER"), admin: portal("ORG_ADMIN") });
    const { member, admin } = both.urls;
    for (const headers of [{}, claims(), claims(crypto.randomUUID()), { ...claims(), "x-forwarded-for": "127.0.0.1" }]) {
      expect(await statusOf(expiring(member), headers)).toBe(200);
      expect(await statusOf(certificates(member), headers, "POST")).toBe(403);
      expect(await statusOf(certificates(admin), headers, "POST")).toBe(400);
    }
    expect(await statusOf(expiring(member), { authorization: "Bearer nonsense" })).toBe(401);
    expect([await statusOf(`${member}/metrics`), await statusOf(`${both.direct}/metrics`)]).toEqual([401, 200]);
  });

  test("403 without GATEWAY_SECRET or with a wrong one, 200 with either while it is rotated", async () => {
    const shapes = {
      without: portal("ORG_ADMIN"),
      wrong: `${portal("ORG_ADMIN")} proxy_set_header X-Gateway-Secret "${SECRET}x";`,
      old: `${portal("ORG_ADMIN")} proxy_set_header X-Gateway-Secret "${SECRET}";`,
      next: `${portal("ORG_ADMIN")} proxy_set_header x-gateway-secret "${NEXT}";`,
    };
    const metricsToken = "a token of the metrics that is long enough";
    await using both = await startBoth({ TRUSTED_GATEWAYS: "127.0.0.1", GATEWAY_SECRET: `${SECRET},${NEXT}`, METRICS_TOKEN: metricsToken }, shapes);
    const statuses = (headers: Record<string, string>) => Promise.all(Object.values(both.urls).map((base) => statusOf(expiring(base), headers)));
    expect(await statuses({})).toEqual([403, 403, 200, 200]);
    expect(await statuses({ "x-gateway-secret": "guessed" })).toEqual([403, 403, 200, 200]);
    expect(await statusOf(expiring(both.direct), claims())).toBe(403);
    expect(await statusOf(`${both.direct}/metrics`)).toBe(401);
    for (const base of [both.direct, ...Object.values(both.urls)])
      expect(await statusOf(`${base}/metrics`, { authorization: `Bearer ${metricsToken}` })).toBe(200);
  });
});

describe("nginx before the demo", () => {
  test("403 when it says so, 200 for programs on this machine", async () => {
    const { cwd, dataDir, remove } = newPlace();
    closers.push(remove);
    const server = await serve({ cwd, env: { DATA_DIR: dataDir } }, "--demo");
    const shapes = {
      for: "proxy_pass http://$app; proxy_set_header X-Forwarded-For $remote_addr;",
      proto: "proxy_pass http://$app; proxy_set_header X-Forwarded-Proto $scheme;",
      via: 'proxy_pass http://$app; proxy_set_header Via "1.1 nginx";',
      host: "proxy_pass http://$app; proxy_set_header Host portal.example;",
      group: "proxy_pass http://a;",
    };
    const proxy = await startReverseProxy(server.url, shapes);
    while ((await statusOf(expiring(server.url, DEMO), claims(DEMO))) !== 200) await Bun.sleep(50);
    for (const base of Object.values(proxy.urls)) {
      expect([base, await statusOf(expiring(base, DEMO), claims(DEMO))]).toEqual([base, 403]);
      expect([base, await statusOf(`${base}/metrics`)]).toEqual([base, 401]);
    }
    await proxy.stop();
    expect(await server.stop()).toBe(0);
  });
});
