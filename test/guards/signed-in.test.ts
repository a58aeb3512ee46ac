import { describe, expect, test } from "bun:test";
import { forge, seconds, sendRaw, startWith } from "../auth/servers";
import { call } from "../support/server/call";
import { newUser, sign } from "../support/server/people";
import { JWT_SECRET, world } from "../support/server/world";

const OTHER_SECRET = "another secret, long enough to sign as well";
const HS256 = { alg: "HS256" };
const me = (authorization: string, url = world.url) => call("GET", "/users/me", { headers: { authorization }, url });
const somebody = (claims: object = {}) => ({ sub: crypto.randomUUID(), exp: seconds(3_600), ...claims });
const refused = { status: 401, body: "" };

describe("Authorization", () => {
  test("401 without it", async () => {
    expect(await call("GET", "/users/me")).toMatchObject(refused);
  });

  test.each([
    ["Basic", "Basic QWRhOkxvdmVsYWNl"],
    ["an unknown scheme", "Token abc"],
    ["an empty token", "Bearer "],
    ["no scheme", forge(HS256, somebody(), JWT_SECRET)],
    ["another scheme before a good token", `Basic ${forge(HS256, somebody(), JWT_SECRET)}`],
    ["two tokens in one", `Bearer ${forge(HS256, somebody(), JWT_SECRET)}, Bearer ${forge(HS256, somebody(), JWT_SECRET)}`],
    ["a good token and a comma", `Bearer ${forge(HS256, somebody(), JWT_SECRET)},`],
    ["a good token in a tail of dots", `Bearer ${forge(HS256, somebody(), JWT_SECRET)}..`],
    ["a word", "Bearer nonsense"],
    ["dots", "Bearer .."],
    ["no JSON in base64", "Bearer YQ.YQ.YQ"],
    ["JSON that is no object", `Bearer ${btoa("null").replaceAll("=", "")}.${btoa("1").replaceAll("=", "")}.YQ`],
  ])("401 for %s", async (_, authorization) => {
    expect(await me(authorization)).toMatchObject(refused);
  });

  test("401 with a challenge, which names an error only where a bearer token was sent", async () => {
    const challenge = async (headers: Record<string, string>) => (await call("GET", "/users/me", { headers })).headers.get("www-authenticate");
    for (const authorization of ["", "Basic QWRhOkxvdmVsYWNl", "Bearer", "Bearer "]) expect(await challenge({ authorization })).toBe("Bearer");
    expect(await challenge({})).toBe("Bearer");
    for (const authorization of ["Bearer nonsense", "bearer nonsense", `Bearer ${forge(HS256, somebody(), OTHER_SECRET)}`])
      expect(await challenge({ authorization })).toBe('Bearer error="invalid_token"');
  });

  test("401 when it is sent twice, also when both are good", async () => {
    const { token } = await newUser();
    const line = `authorization: Bearer ${token}`;
    const request = ["GET /users/me HTTP/1.1", "host: localhost", line];
    expect(await sendRaw(world.url, [...request, line])).toBe(401);
    expect(await sendRaw(world.url, [...request, "authorization:"])).toBe(401);
    expect(await sendRaw(world.url, request)).toBe(200);
  });

  test.each(["Bearer", "bearer", "BEARER"])("200 for the scheme %s", async (scheme) => {
    const { id, token } = await newUser();
    expect(await me(`${scheme} ${token}`)).toMatchObject({ status: 200, body: { id } });
  });
});

describe("a token", () => {
  test.each([
    ["alg none and no signature", () => forge({ alg: "none" }, somebody(), JWT_SECRET).replace(/[^.]+$/, "")],
    ["alg none and a signature", () => forge({ alg: "none" }, somebody(), JWT_SECRET)],
    ["alg NONE", () => forge({ alg: "NONE" }, somebody(), JWT_SECRET)],
    ["no alg", () => forge({ typ: "JWT" }, somebody(), JWT_SECRET)],
    ["a list of algs", () => forge({ alg: ["HS256"] }, somebody(), JWT_SECRET)],
    ["alg HS512 with an HS256 signature", () => forge({ alg: "HS512" }, somebody(), JWT_SECRET)],
    ["alg HS512 and the right secret", () => sign(somebody(), { alg: "HS512", secret: JWT_SECRET.repeat(2) })],
    ["alg RS256 while no provider is known", () => forge({ alg: "RS256" }, somebody(), JWT_SECRET)],
    ["another secret", () => sign(somebody(), { secret: OTHER_SECRET })],
    ["no signature", async () => (await sign(somebody())).replace(/[^.]+$/, "")],
    ["the signature of another token", async () => `${signedPart(await sign(somebody()))}.${(await sign(somebody())).split(".")[2]}`],
    ["an unknown crit", () => forge({ alg: "HS256", crit: ["tenant"], tenant: "x" }, somebody(), JWT_SECRET)],
    ["an empty crit", () => forge({ alg: "HS256", crit: [] }, somebody(), JWT_SECRET)],
    ["an unencoded payload", () => forge({ alg: "HS256", crit: ["b64"], b64: false }, somebody(), JWT_SECRET)],
    ["an exp 40 s ago", () => sign(somebody({ exp: seconds(-40) }))],
    ["an nbf in 40 s", () => sign(somebody({ nbf: seconds(40) }))],
    ["no exp", () => forge(HS256, { sub: crypto.randomUUID() }, JWT_SECRET)],
    ["an exp in words", () => forge(HS256, somebody({ exp: "tomorrow" }), JWT_SECRET)],
    ["no exp but null", () => forge(HS256, somebody({ exp: null }), JWT_SECRET)],
    ["no sub", () => sign({})],
    ["an empty sub", () => sign({ sub: "" })],
    ["a number as sub", () => forge(HS256, somebody({ sub: 7 }), JWT_SECRET)],
    ["a list as sub", () => forge(HS256, somebody({ sub: ["ada"] }), JWT_SECRET)],
    ["a lone surrogate in sub", () => forge(HS256, somebody({ sub: "ada\ud800" }), JWT_SECRET)],
    ["the typ of a logout token", () => sign(somebody(), { header: { typ: "logout+jwt" } })],
    ["the typ of a security event", () => sign(somebody(), { header: { typ: "secevent+jwt" } })],
    ["the typ of a proof of possession", () => sign(somebody(), { header: { typ: "dpop+jwt" } })],
    ["the typ of an encrypted token", () => sign(somebody(), { header: { typ: "JOSE" } })],
    ["a media type of another kind", () => sign(somebody(), { header: { typ: "application/logout+jwt" } })],
    ["two types", () => sign(somebody(), { header: { typ: "at+jwt, logout+jwt" } })],
    ["a parameter in typ", () => sign(somebody(), { header: { typ: "JWT;x=y" } })],
    ["a longer typ", () => sign(somebody(), { header: { typ: "application/application/jwt" } })],
    ["a typ and a line break", () => sign(somebody(), { header: { typ: "JWT\n" } })],
    ["an empty typ", () => sign(somebody(), { header: { typ: "" } })],
    ["null as typ", () => forge({ ...HS256, typ: null }, somebody(), JWT_SECRET)],
    ["a list as typ", () => forge({ ...HS256, typ: ["JWT"] }, somebody(), JWT_SECRET)],
    ["over 8 KiB", () => sign(somebody({ padding: "x".repeat(7_000) }))],
  ])("401 with %s", async (_, token) => {
    expect(await me(`Bearer ${await token()}`)).toMatchObject(refused);
  });

  test("401 once a byte of its claims is changed", async () => {
    const admin = crypto.randomUUID();
    const [header, , signature] = (await sign(somebody())).split(".");
    const claims = Buffer.from(JSON.stringify(somebody({ sub: admin }))).toString("base64url");
    expect(await me(`Bearer ${header}.${claims}.${signature}`)).toMatchObject(refused);
  });

  test("401 when it expires after it was accepted", async () => {
    let ahead = 0;
    await using server = startWith({}, () => new Date(Date.now() + ahead));
    const authorization = `Bearer ${await sign(somebody({ exp: seconds(60) }))}`;
    expect((await me(authorization, server.url)).status).toBe(200);
    ahead = 80_000;
    expect((await me(authorization, server.url)).status).toBe(200);
    ahead = 100_000;
    expect((await me(authorization, server.url)).status).toBe(401);
  });

  test.each([{ aud: "https://elsewhere.example" }, { aud: ["https://elsewhere.example"] }, { aud: "" }, { aud: null }, {}])(
    "401 with %j when JWT_AUDIENCE names another",
    async (claims) => {
      await using server = startWith({ JWT_AUDIENCE: "https://certitude.example" });
      expect(await me(`Bearer ${forge(HS256, somebody(claims), JWT_SECRET)}`, server.url)).toMatchObject(refused);
    },
  );

  test("200 when one of its audiences is JWT_AUDIENCE", async () => {
    await using server = startWith({ JWT_AUDIENCE: "https://certitude.example" });
    expect((await me(`Bearer ${await sign(somebody({ aud: ["https://elsewhere.example", "https://certitude.example"] }))}`, server.url)).status).toBe(200);
  });

  test.each(["JWT", "jwt", "at+jwt", "AT+JWT", "application/jwt", "Application/at+jwt"])("200 with the typ %s", async (typ) => {
    expect((await me(`Bearer ${await sign(somebody(), { header: { typ } })}`)).status).toBe(200);
  });

  test.each([
    ["an exp 20 s ago", () => ({ exp: seconds(-20) })],
    ["an nbf in 20 s", () => ({ nbf: seconds(20) })],
    ["nearly 8 KiB", () => ({ padding: "x".repeat(5_500) })],
  ])("200 with %s", async (_, claims) => {
    expect((await me(`Bearer ${await sign(somebody(claims()))}`)).status).toBe(200);
  });
});

const signedPart = (token: string) => token.slice(0, token.lastIndexOf("."));

describe("keys in the header of a token", () => {
  const secretKey = { kty: "oct", k: Buffer.from(OTHER_SECRET).toString("base64url"), alg: "HS256" };
  let fetches = 0;
  const attacker = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch() {
      fetches++;
      return Response.json({ keys: [secretKey] });
    },
  });
  const injected = [
    { jwk: secretKey },
    { jku: attacker.url.href },
    { x5u: attacker.url.href },
    { x5c: [Buffer.from(OTHER_SECRET).toString("base64")] },
    { kid: "../../../../dev/null" },
    { kid: "' or 1=1 --" },
    { kid: attacker.url.href },
  ];

  test.each(injected)("401 for a stranger's key in %j", async (header) => {
    expect(await me(`Bearer ${forge({ ...HS256, ...header }, somebody(), OTHER_SECRET)}`)).toMatchObject(refused);
    expect(await me(`Bearer ${forge({ ...HS256, ...header }, somebody(), "")}`)).toMatchObject(refused);
  });

  test.each(injected)("200 for our own signature, whatever is in %j", async (header) => {
    expect((await me(`Bearer ${forge({ ...HS256, ...header }, somebody(), JWT_SECRET)}`)).status).toBe(200);
  });

  test("nobody fetched them", async () => {
    expect(fetches).toBe(0);
    await attacker.stop(true);
  });
});
