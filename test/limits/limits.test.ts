import { afterAll, describe, expect, test } from "bun:test";
import { readConfig } from "#config";
import { newAgent } from "../support/server/agents";
import { call } from "../support/server/call";
import { newOrganization, newUser } from "../support/server/people";
import { environment, startServer, world } from "../support/server/world";

const servers: ReturnType<typeof startServer>[] = [];
afterAll(() => Promise.all(servers.map(({ server }) => server.stop(true))));

/** Another server on the database of the tests, with these limits and a clock that the test sets. */
function withLimits(text: string) {
  const { rateLimits } = readConfig({ ...environment, DATA_DIR: world.directory, RATE_LIMITS: text });
  const time = { now: Date.now() };
  const server = startServer({ ...world.config, rateLimits }, world.database, () => new Date(time.now));
  servers.push(server);
  return { ...server, time };
}

const statuses = async (count: number, ask: () => Promise<{ status: number }>) => {
  const all: number[] = [];
  for (let index = 0; index < count; index++) all.push((await ask()).status);
  return all;
};

describe("the limit of a caller", () => {
  test("429 with Retry-After and RateLimit for a user beyond theirs, and nobody else", async () => {
    const { url } = withLimits("user=3/600");
    const [ada, bob] = [await newUser(), await newUser()];
    const first = await ada.call("GET", "/users/me", { url });
    expect([first.status, first.headers.get("ratelimit-policy"), first.headers.get("ratelimit")]).toEqual([200, '"user";q=3;w=600', '"user";r=2;t=200']);
    expect(await statuses(2, () => ada.call("GET", "/users/me", { url }))).toEqual([200, 200]);
    const { status, body, headers } = await ada.call("PATCH", "/users/me/profile", { url, body: { displayName: "Ada" } });
    expect({ status, body }).toEqual({ status: 429, body: { message: "There were more than 3 requests in 600 seconds. Try again in 200 s." } });
    const [retryAfter, policy, left] = ["retry-after", "ratelimit-policy", "ratelimit"].map((name) => headers.get(name));
    expect([retryAfter, policy, left]).toEqual(["200", '"user";q=3;w=600', '"user";r=0;t=200']);
    expect(await bob.call("GET", "/users/me", { url })).toMatchObject({ status: 200 });
    expect(await call("GET", "/health/live", { url })).toMatchObject({ status: 200 });
  });

  test("429 for a user whatever the token and the organization, also where they may not enter", async () => {
    const { url } = withLimits("user=2/600");
    const organization = await newOrganization();
    const user = await organization.join();
    const path = `/organizations/${organization.id}/certificates`;
    const ask = (token: string, id = organization.id) =>
      call("GET", path.replace(organization.id, id), { url, token, headers: { ...organization.headers("ORG_MEMBER"), "x-organization-id": id } });
    const other = await newUser({ sub: user.id });
    expect((await ask(user.token)).status).toBe(200);
    expect((await ask(other.token, crypto.randomUUID())).status).toBe(403);
    expect((await ask(other.token)).status).toBe(429);
  });

  test("200 again once the bucket has one", async () => {
    const { url, time } = withLimits("user=2/2");
    const user = await newUser();
    const ask = () => user.call("GET", "/users/me", { url });
    expect(await statuses(2, ask)).toEqual([200, 200]);
    const refused = await ask();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "1"]);
    time.now += 1_000;
    expect(await statuses(2, ask)).toEqual([200, 429]);
  });

  test("429 for an agent and for an API token beyond theirs, and the database is not asked", async () => {
    const { url } = withLimits("agent=2/600,api-token=2/600");
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const { body } = await organization.admin("POST", "/api-tokens", { body: { name: "ci", role: "ORG_MEMBER" } });
    const path = `/organizations/${organization.id}/certificates`;
    const poll = () => call("GET", "/agent/assignments", { url, token: agent.token });
    const list = () => call("GET", path, { url, token: body.token, headers: organization.headers("ORG_MEMBER") });
    expect(await statuses(3, poll)).toEqual([200, 200, 429]);
    expect(await statuses(3, list)).toEqual([200, 200, 429]);
    const statements: string[] = [];
    Object.assign(world.sql.options, { debug: (_: number, text: string) => void statements.push(text) });
    expect([(await poll()).status, (await list()).status]).toEqual([429, 429]);
    Object.assign(world.sql.options, { debug: false });
    expect(statements.filter((each) => /agents|api_tokens/.test(each))).toEqual([]);
  });

  test("429 for an ingest key beyond its own, before the body is read", async () => {
    const { url } = withLimits("ingest-key=1/600");
    const organization = await newOrganization();
    const { body } = await organization.admin("POST", "/ai-governance/ingest/keys", { body: { name: "Collectors" } });
    const send = (sample: object) =>
      call("POST", `/organizations/${organization.id}/ai-governance/ingest/metrics`, { url, token: body.key, body: { system: "s", samples: [sample] } });
    expect((await send({ metric: "m", value: 1 })).status).toBe(202);
    expect((await send({ nonsense: true })).status).toBe(429);
  });

  test("429 for a gateway and one organization, not for its others", async () => {
    const { url } = withLimits("gateway=2/600");
    const [one, other] = [await newOrganization(), await newOrganization()];
    const list = ({ id, headers }: typeof one) => call("GET", `/organizations/${id}/certificates`, { url, headers: headers("ORG_MEMBER") });
    expect(await statuses(3, () => list(one))).toEqual([200, 200, 429]);
    expect(await list(other)).toMatchObject({ status: 200 });
  });

  test("no header and no end where the limits are off", async () => {
    const { url } = withLimits("off");
    const user = await newUser();
    const { status, headers } = await user.call("GET", "/users/me", { url });
    expect([status, headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([200, null, null]);
    expect(await statuses(20, () => call("GET", "/users/me", { url }))).toEqual(Array.from({ length: 20 }, () => 401));
  });
});

describe("the limit of an address", () => {
  test("429 in place of 401 and 403 for strangers, 200 for callers with a valid credential from there", async () => {
    const { url } = withLimits("address=3/600");
    const [user, organization] = [await newUser(), await newOrganization()];
    const stranger = () => call("GET", "/users/me", { url, token: "nonsense" });
    expect((await stranger()).headers.get("www-authenticate")).toBe('Bearer error="invalid_token"');
    expect(await statuses(2, stranger)).toEqual([401, 401]);
    const { status, body, headers } = await stranger();
    expect([status, body.message]).toEqual([429, "There were more than 3 requests in 600 seconds. Try again in 200 s."]);
    const sent = ["retry-after", "ratelimit", "ratelimit-policy", "www-authenticate"].map((name) => headers.get(name));
    expect(sent).toEqual(["200", '"address";r=0;t=200', '"address";q=3;w=600', null]);
    expect(headers.get("x-request-id")).not.toBeNull();
    expect((await call("GET", `/organizations/${organization.id}/certificates`, { url, headers: { authorization: "Basic x" } })).status).toBe(429);
    expect((await user.call("GET", "/users/me", { url })).status).toBe(200);
    expect((await call("GET", `/organizations/${organization.id}/certificates`, { url, headers: organization.headers("ORG_MEMBER") })).status).toBe(200);
    for (const path of ["/health/live", "/swagger/json"]) expect((await fetch(url + path)).status).toBe(200);
  });

  test("403 of a caller who is known costs the address nothing", async () => {
    const { url } = withLimits("address=1/600");
    const [user, organization] = [await newUser(), await newOrganization()];
    const enter = () => user.call("GET", `/organizations/${organization.id}/certificates`, { url, headers: organization.headers("ORG_MEMBER") });
    expect(await statuses(5, enter)).toEqual([403, 403, 403, 403, 403]);
    expect((await call("GET", "/users/me", { url })).status).toBe(401);
  });
});
