import { afterAll, describe, expect, test } from "bun:test";
import { createPublicKey } from "node:crypto";
import { importJWK, type JWK, SignJWT } from "jose";
import { call } from "../support/server/call";
import { newUser, sign } from "../support/server/people";
import { JWT_SECRET, world } from "../support/server/world";
import { AUDIENCE, newKey, startProvider } from "./provider";
import { forge, seconds, startWith } from "./servers";

const ALGORITHMS = ["RS256", "PS256", "ES256", "EdDSA"];
const keys = await Promise.all(ALGORITHMS.map(newKey));
const provider = await startProvider(...keys);
const OIDC = { OIDC_ISSUER: provider.issuer, JWT_AUDIENCE: AUDIENCE, JWT_SECRET: undefined };
const server = startWith(OIDC);
afterAll(async () => {
  await server.server.stop(true);
  await provider.stop();
});

const me = (token: string, { url }: { url: string } = server) => call("GET", "/users/me", { token, url });
const keyOf = (alg: string) => keys.find((key) => key.alg === alg) as JWK & { alg: string; kid: string };
const refused = { status: 401, body: "" };

/** A token that only the holder of `key` can make. */
async function signAs(key: JWK, claims: object = {}, header: object = {}) {
  const complete = { iss: provider.issuer, sub: "ada", aud: AUDIENCE, exp: seconds(600), jti: crypto.randomUUID(), ...claims };
  const { kid, alg = "" } = key;
  return new SignJWT(complete).setProtectedHeader({ kid: kid ?? "", ...header, alg }).sign(await importJWK(key));
}

describe("a token of OIDC_ISSUER", () => {
  test.each([
    ["another issuer", { iss: "https://elsewhere.example" }],
    ["an issuer that begins like ours", { iss: `${provider.issuer}.evil.example` }],
    ["an issuer in other letters", { iss: provider.issuer.toUpperCase() }],
    ["two issuers", { iss: [provider.issuer] }],
    ["no issuer", { iss: undefined }],
    ["an exp 40 s ago", { exp: seconds(-40) }],
    ["no exp", { exp: undefined }],
    ["no sub", { sub: undefined }],
    ["another audience", { aud: "https://elsewhere.example" }],
    ["no audience", { aud: undefined }],
  ])("401 with %s", async (_, claims) => {
    expect(await me(await signAs(keyOf("RS256"), claims))).toMatchObject(refused);
  });

  test("401 for a logout token, 200 for an access token of RFC 9068", async () => {
    expect(await me(await signAs(keyOf("RS256"), {}, { typ: "logout+jwt" }))).toMatchObject(refused);
    expect((await me(await signAs(keyOf("RS256"), {}, { typ: "at+jwt" }))).status).toBe(200);
  });

  test("401 with the public RSA key as an HMAC secret, however it is written", async () => {
    const { kty = "", n = "", e = "", kid, use } = keyOf("RS256");
    const publicKey = createPublicKey({ key: { kty, n, e }, format: "jwk" });
    const secrets = [
      `${publicKey.export({ type: "spki", format: "pem" })}`,
      `${publicKey.export({ type: "spki", format: "pem" })}`.trim(),
      `${publicKey.export({ type: "pkcs1", format: "pem" })}`,
      JSON.stringify({ kty, n, e }),
      JSON.stringify({ kty, use, kid, alg: "RS256", e, n }),
      n,
    ];
    const claims = { iss: provider.issuer, sub: "ada", aud: AUDIENCE, exp: seconds(600) };
    for (const secret of secrets) expect(await me(forge({ alg: "HS256", kid }, claims, secret))).toMatchObject(refused);
  });

  test("401 with the JWT_SECRET of other servers, and for alg none", async () => {
    expect(await me((await newUser({ iss: provider.issuer, aud: AUDIENCE })).token)).toMatchObject(refused);
    expect(await me(forge({ alg: "none", kid: keyOf("RS256").kid }, { iss: provider.issuer, sub: "ada", aud: AUDIENCE, exp: seconds(600) }, ""))).toMatchObject(
      refused,
    );
  });

  test("401 with a stranger's key under a published kid, alone or inside the header", async () => {
    for (const alg of ALGORITHMS) {
      const stranger = { ...(await newKey(alg)), kid: keyOf(alg).kid };
      const { d, p, q, dp, dq, qi, ...jwk } = stranger;
      expect(await me(await signAs(stranger))).toMatchObject(refused);
      expect(await me(await signAs(stranger, {}, { jwk }))).toMatchObject(refused);
    }
  });

  test("401 when a published key signs with another algorithm than its own", async () => {
    expect(await me(await signAs({ ...keyOf("RS256"), alg: "PS256" }))).toMatchObject(refused);
    expect(await me(await signAs({ ...keyOf("RS256"), alg: "RS512" }))).toMatchObject(refused);
  });

  test("401 when JWT_AUDIENCE names another audience, 200 when it names this one", async () => {
    await using strict = startWith({ ...OIDC, JWT_AUDIENCE: "https://elsewhere.example" });
    expect(await me(await provider.token("ada"), strict)).toMatchObject(refused);
    expect((await me(await provider.token("ada", { audience: "https://elsewhere.example" }), strict)).status).toBe(200);
    expect(await me(await provider.token("ada", { audience: "https://elsewhere.example" }))).toMatchObject(refused);
    expect(await me(await signAs(keyOf("RS256"), { aud: undefined }))).toMatchObject(refused);
  });

  test("401 for every later use of a signed-out token, also with the second signature that ECDSA allows", async () => {
    const token = await provider.token("grace", { alg: "ES256" });
    expect((await me(mirror(token))).status).toBe(200);
    expect((await call("POST", "/auth/sign-out", { token, url: server.url })).status).toBe(204);
    expect(await me(token)).toMatchObject(refused);
    expect(await me(mirror(token))).toMatchObject(refused);
  });

  test.each(ALGORITHMS)("200 signed with %s, as the provider issues it", async (alg) => {
    const user = crypto.randomUUID();
    const { status, body } = await me(await provider.token(user, { alg }));
    expect({ status, ...body }).toMatchObject({ status: 200, id: user, email: `${user}@provider.example`, displayName: "Grace Hopper" });
  });

  test("200 for an issuer that ends in a slash, and for a token that names no key", async () => {
    expect((await me(await signAs(keyOf("ES256"), { iss: `${provider.issuer}/` }))).status).toBe(200);
    const [one, two] = [await newKey("RS256"), await newKey("RS256")];
    await using twin = await startProvider(one, two);
    await using other = startWith({ ...OIDC, OIDC_ISSUER: twin.issuer });
    for (const key of [one, two]) expect((await me(await signAs(key, { iss: twin.issuer }, { kid: undefined }), other)).status).toBe(200);
    expect(await me(await signAs(await newKey("RS256"), { iss: twin.issuer }, { kid: undefined }), other)).toMatchObject(refused);
  });
});

describe("OIDC_ISSUER beside JWT_SECRET", () => {
  test("each token is verified by its own scheme alone", async () => {
    await using both = startWith({ ...OIDC, JWT_SECRET });
    expect((await me(await provider.token("ada"), both)).status).toBe(200);
    expect((await me((await newUser({ aud: AUDIENCE })).token, both)).status).toBe(200);
    expect(
      await me(await sign({ sub: "ada", iss: provider.issuer, aud: AUDIENCE }, { secret: "the secret of somebody else, long enough" }), both),
    ).toMatchObject(refused);
    expect(await me(await signAs(await newKey("RS256")), both)).toMatchObject(refused);
    expect(
      await me(forge({ alg: "RS256", kid: keyOf("RS256").kid }, { iss: provider.issuer, sub: "ada", aud: AUDIENCE, exp: seconds(600) }, JWT_SECRET), both),
    ).toMatchObject(refused);
  });
});

describe("JWT_SECRET alone", () => {
  test("401 for the provider's token", async () => {
    expect(await me(await provider.token("ada"), world)).toMatchObject(refused);
  });
});

/** Where (r, s) is a signature, (r, n − s) is one too. */
function mirror(token: string) {
  const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
  const [header, claims, signature = ""] = token.split(".");
  const bytes = Buffer.from(signature, "base64url");
  const s = (order - BigInt(`0x${bytes.toString("hex", 32)}`)).toString(16).padStart(64, "0");
  return `${header}.${claims}.${Buffer.concat([bytes.subarray(0, 32), Buffer.from(s, "hex")]).toString("base64url")}`;
}
