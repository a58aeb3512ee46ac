import { describe, expect, test } from "bun:test";
import { call } from "../support/server/call";
import { newUser, sign } from "../support/server/people";
import { JWT_SECRET } from "../support/server/world";
import { forge, seconds, startWith } from "./servers";

const me = async (claims: object) => call("GET", "/users/me", { token: forge({ alg: "HS256" }, { exp: seconds(3_600), ...claims }, JWT_SECRET) });

describe("sub", () => {
  test("a UUID is the user's id, in lower case", async () => {
    const id = crypto.randomUUID();
    expect((await me({ sub: id })).body.id).toBe(id);
    expect((await me({ sub: id.toUpperCase() })).body.id).toBe(id);
  });

  test("anything else maps to a UUID of issuer and sub, the same on every server", async () => {
    const [iss, sub] = ["https://provider.example", `auth0|${crypto.randomUUID()}`];
    await using replica = startWith({});
    const { id } = (await me({ iss, sub })).body;
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    expect((await me({ iss, sub })).body.id).toBe(id);
    expect((await call("GET", "/users/me", { token: await sign({ iss, sub }), url: replica.url })).body.id).toBe(id);
    expect((await me({ iss: "https://other.example", sub })).body.id).not.toBe(id);
    expect((await me({ iss, sub: `${sub}x` })).body.id).not.toBe(id);
  });

  test.each(["a\0b", "x".repeat(2_000), "🦆", " ", "../admin", "00000000-0000-0000-0000-00000000000g"])("%j is a user", async (sub) => {
    expect((await me({ sub })).status).toBe(200);
  });
});

describe("e-mail and name", () => {
  test("later tokens keep the e-mail current, and leave the names that the user chose", async () => {
    const user = await newUser();
    await user.call("PATCH", "/users/me/profile", { body: { displayName: "Countess" } });
    const email = `new-${user.email}`;
    expect((await me({ sub: user.id, email: email.toUpperCase(), name: "Somebody Else" })).body).toMatchObject({
      email,
      displayName: "Countess",
      fullName: "Ada Lovelace",
    });
    expect((await me({ sub: user.id })).body.email).toBe(email);
  });

  test.each<[string, unknown]>([
    ["NUL", "a\0b@people.example"],
    ["a lone surrogate", "\udfff@people.example"],
    ["more characters than an address has", `${"x".repeat(300)}@people.example`],
    ["spaces alone", "   "],
    ["a number", 5],
    ["a list", ["ada@people.example"]],
    ["an object", { toString: "ada@people.example" }],
    ["null", null],
  ])("an e-mail or name of %s is none", async (_, claim) => {
    const { status, body } = await me({ sub: crypto.randomUUID(), email: claim });
    expect({ status, email: body.email }).toEqual({ status: 200, email: null });
    expect((await me({ sub: crypto.randomUUID(), name: claim })).status).toBe(200);
  });

  test.each<[string, object]>([
    ["iss", { iss: { a: 1 } }],
    ["iss", { iss: "a\0b" }],
    ["jti", { jti: { a: [1] } }],
    ["__proto__", JSON.parse('{"__proto__": {"sub": "admin"}}')],
    ["email_verified", { email_verified: "perhaps" }],
  ])("an odd %s does no harm", async (_, claims) => {
    const sub = crypto.randomUUID();
    expect(await me({ sub, ...claims })).toMatchObject({ status: 200, body: { id: sub } });
  });
});

describe("exp", () => {
  test.each([
    ["in milliseconds", Date.now() + 3_600_000],
    ["beyond the dates that a computer knows", 1e300],
  ])("%s: the token can be signed out", async (_, exp) => {
    const user = await newUser({ exp });
    expect((await user.call("GET", "/users/me")).status).toBe(200);
    expect((await user.call("POST", "/auth/sign-out")).status).toBe(204);
    expect((await user.call("GET", "/users/me")).status).toBe(401);
  });
});

describe("a signed-out token", () => {
  const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  /** The last character of 43 holds two bits that mean nothing. */
  const lastBit = (token: string) => token.slice(0, -1) + ALPHABET[ALPHABET.indexOf(token.at(-1) ?? "") ^ 1];

  test.each<[string, (token: string) => string]>([
    ["padded", (token) => `${token}=`],
    ["with another last bit", lastBit],
    ["in the other base64", (token) => token.replaceAll("-", "+").replaceAll("_", "/")],
  ])("401 also when its signature is written otherwise: %s", async (_, rewrite) => {
    const user = await newUser();
    expect((await user.call("POST", "/auth/sign-out")).status).toBe(204);
    expect(await call("GET", "/users/me", { token: rewrite(user.token) })).toMatchObject({ status: 401, body: "" });
  });
});
