import { describe, expect, test } from "bun:test";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { importJWK, type JWK, SignJWT } from "jose";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { AUDIENCE, newKey, startProvider } from "./provider";
import { seconds, startWith } from "./servers";

const COOL_DOWN = 30_001;
const TEN_MINUTES = 600_001;

/** A provider, a server that knows it, and the server's clock. */
async function startBoth(...keys: JWK[]) {
  const provider = await startProvider(...keys);
  let ahead = 0;
  const server = startWith({ OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: AUDIENCE, JWT_SECRET: undefined }, () => new Date(Date.now() + ahead));
  return {
    provider,
    me: (token: string) => call("GET", "/users/me", { token, url: server.url }),
    pass(milliseconds: number) {
      ahead += milliseconds;
    },
    async [Symbol.asyncDispose]() {
      await server.server.stop(true);
      await provider.stop();
    },
  };
}

async function signAs(key: JWK, iss: string) {
  const token = new SignJWT({ iss, sub: "ada", aud: AUDIENCE, exp: seconds(3_600), jti: crypto.randomUUID() });
  return token.setProtectedHeader({ kid: key.kid ?? "", alg: key.alg ?? "" }).sign(await importJWK(key));
}

const [first, second] = [await newKey("RS256"), await newKey("RS256")];

describe("the provider changes its keys", () => {
  test("a token of a new key is accepted 30 s after the last look at the key set", async () => {
    await using both = await startBoth(first);
    const { provider, me, pass } = both;
    expect((await me(await provider.token("ada"))).status).toBe(200);
    provider.publish(second, first);
    const token = await provider.token("ada");
    expect((await me(token)).status).toBe(401);
    expect(provider.fetches()).toBe(1);
    pass(COOL_DOWN);
    expect((await me(token)).status).toBe(200);
    expect(provider.fetches()).toBe(2);
  });

  test("a hundred unknown keys make it look once in 30 s", async () => {
    await using both = await startBoth(first);
    const { provider, me, pass } = both;
    const known = await provider.token("ada");
    const flood = async () => {
      const tokens = await Promise.all(Array.from({ length: 100 }, () => signAs({ ...second, kid: crypto.randomUUID() }, provider.issuer)));
      return new Set((await Promise.all(tokens.map(me))).map(({ status }) => status));
    };
    expect(await flood()).toEqual(new Set([401]));
    expect(await flood()).toEqual(new Set([401]));
    expect(provider.fetches()).toBe(1);
    pass(COOL_DOWN);
    expect(await flood()).toEqual(new Set([401]));
    expect(provider.fetches()).toBe(2);
    expect((await me(known)).status).toBe(200);
  });

  test("a removed key proves nothing any more, also in tokens that it verified before", async () => {
    await using both = await startBoth(first);
    const { provider, me, pass } = both;
    const old = await provider.token("ada");
    expect((await me(old)).status).toBe(200);
    provider.publish(second);
    pass(COOL_DOWN);
    expect((await me(await provider.token("ada"))).status).toBe(200);
    expect(await me(old)).toMatchObject({ status: 401, body: "" });
  });

  test("a removed key is noticed within ten minutes, though no new token comes", async () => {
    await using both = await startBoth(first);
    const { provider, me, pass } = both;
    const old = await provider.token("ada");
    expect((await me(old)).status).toBe(200);
    provider.publish(second);
    pass(TEN_MINUTES);
    while ((await me(old)).status === 200) await Bun.sleep(20); // it looks in the background
    expect(await me(old)).toMatchObject({ status: 401, body: "" });
    expect(provider.fetches()).toBe(2);
  });
});

describe("the provider is away", () => {
  test("the last good key set outlives it", async () => {
    await using both = await startBoth(first);
    const { provider, me, pass } = both;
    const [seen, unseen] = [await provider.token("ada"), await provider.token("ada")];
    expect((await me(seen)).status).toBe(200);
    await provider.stop();
    pass(TEN_MINUTES);
    expect((await me(seen)).status).toBe(200);
    expect((await me(unseen)).status).toBe(200);
    expect((await me(await signAs(second, provider.issuer))).status).toBe(401);
    expect((await me(await signAs({ ...second, kid: first.kid }, provider.issuer))).status).toBe(401);
    await provider.resume();
  });

  test("503 with Retry-After while it was never there, and 200 once it is", async () => {
    await using both = await startBoth(first);
    const { provider, me, pass } = both;
    const token = await provider.token("ada");
    await provider.stop();
    for (const answer of [await me(token), await me(token)]) {
      expect(answer).toMatchObject({ status: 503, body: { message: "The identity provider cannot be reached. Try again later." } });
      expect(Number(answer.headers.get("retry-after"))).toBeWithin(1, 31);
    }
    await provider.resume();
    pass(COOL_DOWN);
    expect((await me(token)).status).toBe(200);
  });

  test("503 when it takes the connection and never answers", async () => {
    const silent = createServer(() => {}).listen(0, "127.0.0.1");
    const issuer = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await using server = startWith({ OIDC_ISSUER: issuer, JWT_AUDIENCE: AUDIENCE, JWT_SECRET: undefined });
    const answer = await call("GET", "/users/me", { token: await signAs(first, issuer), url: server.url });
    expect(answer).toMatchObject({ status: 503, body: { message: "The identity provider cannot be reached. Try again later." } });
    expect(answer.headers.has("retry-after")).toBe(true);
    silent.close();
  }, 15_000);

  test("401 still for what is no token at all, or none of the provider's", async () => {
    await using server = startWith({ OIDC_ISSUER: "http://127.0.0.1:9", JWT_AUDIENCE: AUDIENCE, JWT_SECRET: undefined });
    expect((await call("GET", "/users/me", { token: "nonsense", url: server.url })).status).toBe(401);
    expect((await call("GET", "/users/me", { url: server.url })).status).toBe(401);
  });

  test("a token that JWT_SECRET signed needs no provider", async () => {
    await using server = startWith({ OIDC_ISSUER: "http://127.0.0.1:9", JWT_AUDIENCE: AUDIENCE });
    const { id, token } = await newUser({ aud: AUDIENCE });
    expect(await call("GET", "/users/me", { token, url: server.url })).toMatchObject({ status: 200, body: { id } });
  });
});

describe("a discovery document", () => {
  /** A provider that publishes `key` by way of what `discover` says, and the status of a token signed with it. */
  async function statusBy(discover: (issuer: string) => Response) {
    const { kty = "", n = "", e = "", kid = "", alg = "" } = first;
    const provider: Bun.Server<undefined> = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) => (url.endsWith("/keys") ? Response.json({ keys: [{ kty, n, e, kid, alg }] }) : discover(issuerOf(provider))),
    });
    await using server = startWith({ OIDC_ISSUER: issuerOf(provider), JWT_AUDIENCE: AUDIENCE, JWT_SECRET: undefined });
    const { status } = await call("GET", "/users/me", { token: await signAs(first, issuerOf(provider)), url: server.url });
    await provider.stop(true);
    return status;
  }
  const issuerOf = (provider: Bun.Server<undefined>) => provider.url.origin;

  test("503 when its keys would come over plain http, or by a redirect", async () => {
    expect(await statusBy((issuer) => Response.json({ issuer, jwks_uri: `${issuer}/keys` }))).toBe(200);
    expect(await statusBy((issuer) => Response.json({ issuer, jwks_uri: `${issuer.replace("127.0.0.1", "0.0.0.0")}/keys` }))).toBe(503);
    expect(await statusBy((issuer) => Response.json({ issuer, jwks_uri: "/keys" }))).toBe(503);
    expect(await statusBy((issuer) => Response.redirect(`${issuer}/keys`))).toBe(503);
  });

  test("503 when it names another issuer: its keys are not used", async () => {
    await using provider = await startProvider(first);
    await using server = startWith({ OIDC_ISSUER: `http://localhost:${provider.port}`, JWT_AUDIENCE: AUDIENCE, JWT_SECRET: undefined });
    expect((await call("GET", "/users/me", { token: await provider.token("ada"), url: server.url })).status).toBe(503);
    expect((await call("GET", "/users/me", { token: await signAs(first, `http://localhost:${provider.port}`), url: server.url })).status).toBe(503);
    expect(provider.fetches()).toBe(0);
  });
});
