import { expect, test } from "bun:test";
import { createOneTimeCodes } from "#auth/one-time-codes";
import { newKey, startProvider } from "../auth/provider";
import { startWith } from "../auth/servers";
import { world } from "../support/server/world";

const enter = (url: string, code: string) => fetch(`${url}/console/sign-in`, { method: "POST", headers: { authorization: `Bearer ${code}` } });

test("POST /console/sign-in: 401 for a code that is not known, 200 with a user token for one that is, 401 the second time", async () => {
  const user = crypto.randomUUID();
  const code = world.deps.oneTimeCodes.issue({ user, email: "ada@certitude.example" });
  expect((await enter(world.url, "nonsense")).status).toBe(401);
  const answer = await enter(world.url, code);
  expect(answer.status).toBe(200);
  expect(answer.headers.get("cache-control")).toBe("no-store");
  const { token } = (await answer.json()) as { token: string };
  const me = await fetch(`${world.url}/users/me`, { headers: { authorization: `Bearer ${token}` } });
  expect(await me.json()).toMatchObject({ id: user, email: "ada@certitude.example" });
  expect((await enter(world.url, code)).status).toBe(401);
});

test("a code ends after ten minutes", () => {
  let now = 0;
  const codes = createOneTimeCodes(() => new Date(now));
  const holder = { user: crypto.randomUUID(), email: "ada@certitude.example" };
  const [early, late] = [codes.issue(holder), codes.issue(holder)];
  now = 10 * 60_000 - 1;
  expect(codes.use(early)).toMatchObject(holder);
  now += 1;
  expect(codes.use(late)).toBeUndefined();
});

test("GET /console/sign-in: no provider where the server is no client of one", async () => {
  expect(await (await fetch(`${world.url}/console/sign-in`)).json()).toEqual({ provider: null });
});

test.each([
  ["https://api.example", "access_token"],
  ["console", "id_token"],
] as const)(
  "GET /console/sign-in: the provider's endpoints, and which token is for the audience %s; the policy lets the page reach its token endpoint",
  async (audience, token) => {
    await using provider = await startProvider(await newKey("RS256"));
    const { server, url } = startWith({ OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: audience, OIDC_CLIENT_ID: "console" });
    try {
      expect(await (await fetch(`${url}/console/sign-in`)).json()).toEqual({
        provider: {
          issuer: provider.issuer,
          clientId: "console",
          audience,
          authorizationEndpoint: `${provider.issuer}/auth`,
          tokenEndpoint: `${provider.issuer}/token`,
          token,
        },
      });
      const policy = (await fetch(`${url}/console/`)).headers.get("content-security-policy");
      expect(policy).toContain(`connect-src 'self' ${provider.issuer};`);
    } finally {
      await server.stop(true);
    }
  },
);

test("GET /console/: 200 while the provider is away, and the button is missing", async () => {
  await using provider = await startProvider(await newKey("RS256"));
  await provider.stop();
  const { server, url } = startWith({ OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: "console", OIDC_CLIENT_ID: "console" });
  try {
    expect((await fetch(`${url}/console/`)).status).toBe(200);
    expect(await (await fetch(`${url}/console/sign-in`)).json()).toEqual({ provider: null });
  } finally {
    await server.stop(true);
  }
});

/** What stands where the provider should be: it counts who asks, and answers as told. */
function failingProvider(answer: () => Response | Promise<Response>) {
  let asked = 0;
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      asked++;
      return answer();
    },
  });
  return { issuer: server.url.origin, asked: () => asked, [Symbol.asyncDispose]: () => server.stop(true) };
}

test("GET /console/sign-in: 200 for many strangers at once and one after the other, while a provider that fails is asked once", async () => {
  await using provider = failingProvider(() => new Response(null, { status: 500 }));
  await using started = startWith({ OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: "console", OIDC_CLIENT_ID: "console" });
  const ask = async (path: string) => (await fetch(`${started.url}${path}`)).status;
  expect(new Set(await Promise.all(Array.from({ length: 40 }, () => ask("/console/sign-in"))))).toEqual(new Set([200]));
  for (let count = 0; count < 10; count++) expect(await ask(count % 2 ? "/console/" : "/console/sign-in")).toBe(200);
  expect(provider.asked()).toBe(1);
});

test("GET /console/sign-in: strangers who come while a slow provider is asked wait for the one answer", async () => {
  const release = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  await using provider = failingProvider(async () => {
    begun.resolve();
    await release.promise;
    const endpoints = { authorization_endpoint: `${provider.issuer}/auth`, token_endpoint: `${provider.issuer}/token` };
    return Response.json({ issuer: provider.issuer, ...endpoints });
  });
  await using started = startWith({ OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: "console", OIDC_CLIENT_ID: "console" });
  const ask = async () => ((await (await fetch(`${started.url}/console/sign-in`)).json()) as { provider: { issuer: string } }).provider?.issuer;
  const first = ask();
  await begun.promise;
  const others = Array.from({ length: 20 }, ask);
  await fetch(`${started.url}/health/live`);
  release.resolve();
  expect(new Set(await Promise.all([first, ...others]))).toEqual(new Set([provider.issuer]));
  expect(provider.asked()).toBe(1);
});

test("GET /invitations/accept: 302 to the console, which takes the token of the fragment", async () => {
  const answer = await fetch(`${world.url}/invitations/accept`, { redirect: "manual" });
  expect([answer.status, answer.headers.get("location")]).toEqual([302, "../console/?invitation"]);
});
