import { describe, expect, expectTypeOf, test } from "bun:test";
import { createClient, type Data, type Item, items, RefusedError, unwrap } from "../../src/client/index.js";
import { startGateway } from "../support/client/gateway";
import { newApiToken } from "../support/server/api-tokens";
import { newStaff, withJobs } from "../support/server/knowledge";
import { newOrganization, newUser } from "../support/server/people";
import { startServer, world } from "../support/server/world";

/** A client as another team's script makes it: with an API token of its organization. */
async function newClient(more: { url?: string; role?: "ORG_ADMIN" | "ORG_MEMBER"; retries?: number; longestWait?: number; idempotencyKeys?: boolean } = {}) {
  const organization = await newOrganization();
  const { token } = await newApiToken(organization);
  const options = { url: world.url, token, organization: organization.id, role: "ORG_ADMIN" as const, ...more };
  return { ...createClient(options), id: organization.id, token };
}

const github = (name: string) => ({ kind: "github" as const, name, config: { owner: "example", authMethod: "token" }, secrets: { token: "s3cr3t" } });

const busy = (seconds: string) => Response.json({ message: "Busy." }, { status: 503, headers: { "retry-after": seconds } });

describe("the types of a client", () => {
  const { api, organization } = createClient({ url: world.url, organization: "any", role: "ORG_ADMIN" });
  type Error<Of extends (...given: never[]) => Promise<{ error: unknown }>> = Extract<NonNullable<Awaited<ReturnType<Of>>["error"]>, { status: number }>;
  const connection = organization.core.connections({ connectionId: "any" });

  test("each operation may be refused in five ways more, and never by a 422", () => {
    expectTypeOf<Error<typeof organization.certificates.get>["status"]>().toEqualTypeOf<400 | 401 | 403 | 413 | 415 | 429 | 500 | 503>();
    expectTypeOf<Error<typeof connection.patch>["status"]>().toEqualTypeOf<400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 429 | 500 | 503>();
    expectTypeOf<Error<typeof api.health.live.get>["status"]>().toEqualTypeOf<413 | 415 | 429 | 500 | 503>();
    expectTypeOf<Extract<Error<typeof connection.patch>, { status: 429 }>["value"]>().toEqualTypeOf<{ message: string }>();
  });

  test("what has a default may be left out of a query, what is required may not", () => {
    type Query = NonNullable<NonNullable<Parameters<typeof organization.certificates.get>[0]>["query"]>;
    expectTypeOf<Query["limit"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf(organization.certificates.get).toBeCallableWith();
    expectTypeOf(organization.certificates.get).toBeCallableWith({ query: { status: "active" } });
    // @ts-expect-error of which system and metric?
    expectTypeOf(organization["ai-governance"].metrics.get).toBeCallableWith({ query: {} });
  });

  test("writes take their conditions, and elements of lists have a type", () => {
    expectTypeOf(connection.patch).toBeCallableWith({ name: "x" }, { headers: { "if-match": "*", "idempotency-key": "k" } });
    expectTypeOf<Item<typeof organization.core.connections.get>>().toEqualTypeOf<Data<typeof connection.get>>();
    expectTypeOf<Item<typeof api.users.me.notifications.inbox.get>["example"]>().toEqualTypeOf<boolean>();
  });

  test("without an organization there is none, and with one there is a role", () => {
    expectTypeOf(createClient({ url: world.url })).not.toHaveProperty("organization");
    // @ts-expect-error in which role?
    createClient({ url: world.url, organization: "any" });
    // @ts-expect-error there is no such role
    createClient({ url: world.url, organization: "any", role: "OWNER" });
  });
});

describe("a client", () => {
  withJobs();

  test("sends its token and headers with each request", async () => {
    const { organization, id } = await newClient();
    expect((await organization.get()).data?.id).toBe(id);
    const made = await organization.core.connections.post(github("Ours"));
    expect([made.status, made.data?.name]).toEqual([201, "Ours"]);
  });

  test("asks for a token before each request", async () => {
    const { id, token } = await newClient();
    const given = ["cat_expired", token];
    const { organization } = createClient({ url: world.url, token: async () => given.shift() ?? "", organization: id, role: "ORG_MEMBER" });
    expect((await organization.get()).error?.status).toBe(401);
    expect((await organization.get()).status).toBe(200);
  });

  test("says as whom platform staff come", async () => {
    const userId = crypto.randomUUID();
    const seen: RequestInit["headers"][] = [];
    const note = (url: string, init: RequestInit) => {
      seen.push(init.headers);
      return fetch(url, init);
    };
    const { api } = createClient({ url: world.url, userId, headers: { "x-gateway-secret": "s" }, fetch: note });
    expect((await api.admin.organizations.get()).error?.status).toBe(401);
    expect(seen).toEqual([{ "x-user-id": userId, "x-gateway-secret": "s" }]);
  });

  test("sends a file as a form", async () => {
    const staff = await newStaff();
    const { id } = await newOrganization();
    const { api } = createClient({ url: world.url, token: staff.token, userId: staff.id });
    const file = new File(["Keys rotate yearly."], "keys.txt", { type: "text/plain" });
    const document = await unwrap(api.admin["knowledge-base"].documents.post({ file, title: "Keys", organizationId: id }));
    expect(document).toMatchObject({ title: "Keys", fileName: "keys.txt", organizationId: id });
  });

  test("an address that is none is refused at once", () => {
    expect(() => createClient({ url: "certitude.example" })).toThrow();
  });
});

describe("items", () => {
  test("of a list, page after page", async () => {
    const { organization } = await newClient();
    const names = ["a", "b", "c", "d", "e"];
    for (const name of names) await unwrap(organization.core.connections.post(github(name)));
    const found: string[] = [];
    for await (const { name } of items(organization.core.connections.get, { query: { limit: 2, kind: "github" } })) found.push(name);
    expect(found).toEqual(names.toReversed());
    const first = await items(organization.core.connections.get, { query: { limit: 2 } }).next();
    expect(first.value?.name).toBe("e");
  });

  test("of the inbox, which counts its pages, and of a list without pages", async () => {
    const { token } = await newUser();
    const { api } = createClient({ url: world.url, token });
    for (let n = 0; n < 5; n++) await unwrap(api.users.me.notifications.examples.post({}));
    expect(await Array.fromAsync(items(api.users.me.notifications.inbox.get, { query: { limit: 2 } }))).toHaveLength(5);
    const { organization } = await newClient();
    expect(await Array.fromAsync(items(organization["ai-governance"].frameworks.get))).toHaveLength(3);
  });

  test("a refusal is thrown", async () => {
    const { organization } = await newClient();
    const listing = items(organization.core.connections.get, { query: { cursor: "nonsense" } });
    await expect(listing.next()).rejects.toThrow("query.cursor must be the nextCursor of an earlier answer.");
  });
});

describe("unwrap", () => {
  test("throws the server's own sentence, its status and the id of its log", async () => {
    const { organization } = await newClient();
    const thrown = await unwrap(organization.core.connections({ connectionId: "any" }).get()).catch((error: unknown) => error);
    expect(thrown).toBeInstanceOf(RefusedError);
    expect(thrown).toMatchObject({ name: "RefusedError", status: 404, message: "There is no such connection in this organization." });
    expect((thrown as RefusedError).requestId).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("throws a sentence of its own for what has none", async () => {
    const { api } = createClient({ url: world.url });
    await expect(unwrap(api.users.me.get())).rejects.toThrow("The token is missing or not valid.");
  });

  test("throws what fetch threw where there was no answer", async () => {
    const { api } = createClient({ url: world.url });
    const reason = new Error("enough");
    await expect(unwrap(api.health.live.get({ fetch: { signal: AbortSignal.abort(reason) } }))).rejects.toBe(reason);
  });
});

describe("versions", () => {
  test("a write is conditional on what was read: 412 until it is read again", async () => {
    const { organization, id, token } = await newClient();
    const { id: connectionId } = await unwrap(organization.core.connections.post(github("first")));
    const mine = organization.core.connections({ connectionId });
    const other = createClient({ url: world.url, token, organization: id, role: "ORG_ADMIN" }).organization.core.connections({ connectionId });
    expect((await mine.patch({ name: "second" })).status).toBe(200); // its tag came with the 201, the next with this 200
    await unwrap(other.patch({ name: "theirs" })); // it read nothing, so it sends no condition
    for (let n = 0; n < 2; n++) {
      const { error } = await mine.patch({ name: "mine" });
      expect([error?.status, error?.value]).toEqual([412, {}]);
    }
    expect((await mine.delete()).error?.status).toBe(412);
    expect((await unwrap(mine.get())).name).toBe("theirs");
    expect((await unwrap(mine.patch({ name: "mine" }))).name).toBe("mine");
    expect((await mine.delete()).status).toBe(204);
  });

  test("an action is conditional on what it changes", async () => {
    using gateway = startGateway((_, forward) => forward());
    const { organization } = await newClient({ url: `${gateway.url}/base` });
    const { id: connectionId } = await unwrap(organization.core.connections.post(github("one")));
    await organization.core.connections({ connectionId }).test.post();
    expect(gateway.seen.at(-1)?.condition).toBe('"1"');
  });

  test("the caller's own condition goes first", async () => {
    const { organization } = await newClient();
    const { id: connectionId } = await unwrap(organization.core.connections.post(github("one")));
    const { error } = await organization.core.connections({ connectionId }).patch({ name: "x" }, { headers: { "if-match": '"7"' } });
    expect(error?.status).toBe(412);
  });

  test("a tag that a proxy has weakened counts", async () => {
    using gateway = startGateway(async (_, forward) => {
      const answer = await forward();
      const tag = answer.headers.get("etag");
      const headers = { "content-type": "application/json", ...(tag !== null && { etag: `W/${tag}` }) };
      return new Response(await answer.text(), { status: answer.status, headers });
    });
    const { organization } = await newClient({ url: gateway.url });
    const { id: connectionId } = await unwrap(organization.core.connections.post(github("one")));
    await unwrap(organization.core.connections({ connectionId }).get());
    expect((await organization.core.connections({ connectionId }).patch({ name: "two" })).status).toBe(200);
    expect(gateway.seen.at(-1)?.condition).toMatch(/^"1-\w+"$/);
  });
});

describe("Retry-After", () => {
  test("a limited request is sent again when its time has come", async () => {
    const rateLimits = { ...world.config.rateLimits, "api-token": { quota: 2, window: 1 } };
    const { server, url } = startServer({ ...world.config, rateLimits }, world.database);
    const { organization, token, id } = await newClient({ url });
    const statuses = await Promise.all(Array.from({ length: 6 }, async () => (await organization.get()).status));
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200]);
    const hasty = createClient({ url, token, organization: id, role: "ORG_ADMIN", retries: 0 }).organization;
    const refused = (await Promise.all(Array.from({ length: 6 }, () => hasty.get()))).flatMap(({ error }) => (error ? [error] : []));
    expect(refused.map(({ status }) => status)).toContain(429);
    await server.stop(true);
  });

  test("a write whose answer was lost is done once", async () => {
    let losses = 2;
    using gateway = startGateway(async (request, forward) => {
      const answer = await forward();
      return request.method === "POST" && losses-- > 0 ? busy("0") : answer;
    });
    const { organization } = await newClient({ url: gateway.url });
    expect((await organization.core.connections.post(github("once"))).status).toBe(201);
    expect(await Array.fromAsync(items(organization.core.connections.get))).toHaveLength(1);
    const keys = gateway.seen.filter(({ method }) => method === "POST").map(({ key }) => key);
    expect(keys).toEqual(Array(3).fill(keys[0]));
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  test("a write without a key is sent again only where it was not begun", async () => {
    using gateway = startGateway(async () => busy("0"));
    const { organization } = await newClient({ url: gateway.url, idempotencyKeys: false });
    expect((await organization.core.connections.post(github("x"))).error?.value).toEqual({ message: "Busy." });
    expect(gateway.seen).toEqual([{ method: "POST", key: null, condition: null }]);
    await organization.core.connections.post(github("x"), { headers: { "idempotency-key": "mine" } });
    expect(gateway.seen.slice(1).map(({ key }) => key)).toEqual(Array(5).fill("mine"));
  });

  test.each([["61"], [new Date(Date.now() + 3_600_000).toUTCString()], ["soon"]])("%s is not waited for", async (asked) => {
    using gateway = startGateway(async () => busy(asked));
    const { organization } = await newClient({ url: gateway.url });
    expect((await organization.get()).error?.status).toBe(503);
    expect(gateway.seen).toHaveLength(1);
  });

  test("a date that has passed is, and 503 without it is an answer", async () => {
    const answers = [busy(new Date(0).toUTCString()), Response.json({ message: "Away." }, { status: 503 })];
    using gateway = startGateway(async () => answers.shift() ?? busy("0"));
    const { organization } = await newClient({ url: gateway.url });
    expect((await organization.get()).error?.value).toEqual({ message: "Away." });
    expect(gateway.seen).toHaveLength(2);
  });

  test("a wait ends with the caller's signal", async () => {
    const controller = new AbortController();
    using gateway = startGateway(async () => {
      setImmediate(() => controller.abort(new Error("enough")));
      return busy("60");
    });
    const { organization } = await newClient({ url: gateway.url });
    await expect(unwrap(organization.get({ fetch: { signal: controller.signal } }))).rejects.toThrow("enough");
  });
});
