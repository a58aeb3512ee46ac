import { describe, expect, test } from "bun:test";
import { call } from "../../../support/server/call";
import { newOrganization, newUser } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const update = (body: unknown, token?: string) => call("PATCH", "/users/me/profile", { body, token });

describe("PATCH /users/me/profile", () => {
  test("401 for a stranger, whatever the body", async () => {
    expect(await update({ nonsense: true })).toMatchObject({ status: 401, body: "" });
  });

  test.each([
    [{}, "The body must have at least 1 of its fields."],
    [{ displayName: "" }, "body.displayName must be text of 1 to 120 characters, without NUL."],
    [{ displayName: "   " }, "body.displayName must be text of 1 to 120 characters, without NUL."],
    [{ displayName: "x".repeat(121) }, "body.displayName must be text of 1 to 120 characters, without NUL."],
    [{ displayName: 5 }, "body.displayName must be text of 1 to 120 characters, without NUL."],
    [{ displayName: null }, "body.displayName must be text of 1 to 120 characters, without NUL."],
    [{ fullName: "a\0b" }, "body.fullName must be text of 1 to 120 characters, without NUL."],
    [{ fullName: "\ud800" }, "body.fullName must be text of 1 to 120 characters, without NUL."],
    [{ displayName: "Ada", nickname: "A" }, "body.nickname is not a known field."],
    [["Ada"], "The body must be an object."],
    ["Ada", "The body must be an object."],
    [null, "The body must be an object."],
  ])("400 for %j", async (body, message) => {
    const { token } = await newUser();
    expect(await update(body, token)).toMatchObject({ status: 400, body: { message } });
  });

  test("400 without a body", async () => {
    const { token } = await newUser();
    expect(await call("PATCH", "/users/me/profile", { token })).toMatchObject({ status: 400, body: { message: "The body must be an object." } });
  });

  test("200 changes one name, trimmed, and leaves the other", async () => {
    const user = await newUser();
    expect(await update({ displayName: "  Countess  " }, user.token)).toMatchObject({ status: 200, body: { message: "Profile updated" } });
    expect((await user.call("GET", "/users/me")).body).toMatchObject({ id: user.id, email: user.email, displayName: "Countess", fullName: "Ada Lovelace" });
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const user = await newUser();
    const headers = { "if-match": '"2", W/"1"' };
    expect(await user.call("PATCH", "/users/me/profile", { body: { displayName: "A" }, headers })).toMatchObject({ status: 412, body: {} });
    expect((await user.call("GET", "/users/me")).body).toMatchObject({ displayName: "Ada Lovelace", version: 1 });
  });

  test("200 with the ETag of /users/me, which a change moves on, and neither another token nor the same name does", async () => {
    const user = await newUser();
    const tagOf = async (token = user.token) => (await call("GET", "/users/me", { token })).headers.get("etag") ?? "";
    const rename = (displayName: string, tag: string) => user.call("PATCH", "/users/me/profile", { body: { displayName }, headers: { "if-match": tag } });
    expect(await tagOf()).toEqual(readTag(1));
    const changed = await rename("Countess", '"7", "1"');
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
    expect((await rename("Ada", '"1"')).status).toBe(412);
    expect((await rename("Countess", '"2"')).headers.get("etag")).toBe('"2"');
    expect(await tagOf((await newUser({ sub: user.id, email: user.email })).token)).toEqual(readTag(2));
    expect(await tagOf((await newUser({ sub: user.id })).token)).toEqual(readTag(3)); // another e-mail address
    expect((await rename("Ada", "*")).headers.get("etag")).toBe('"4"');
  });

  test("200 for exactly one of twenty with the same If-Match", async () => {
    const user = await newUser();
    await user.call("GET", "/users/me");
    const rename = (index: number) => user.call("PATCH", "/users/me/profile", { body: { displayName: `Ada ${index}` }, headers: { "if-match": '"1"' } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => rename(index)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array(19).fill(412)]);
  });

  test("200 counts characters, not UTF-16 units", async () => {
    const user = await newUser();
    expect((await update({ fullName: "🦆".repeat(120) }, user.token)).status).toBe(200);
    expect((await user.call("GET", "/users/me")).body.fullName).toBe("🦆".repeat(120));
  });
});

describe("GET /users/me", () => {
  test("401 for a stranger", async () => {
    expect(await call("GET", "/users/me")).toMatchObject({ status: 401, body: "" });
  });

  test("200 the first token makes the user, with e-mail and name from its claims", async () => {
    const user = await newUser({ name: "Grace Hopper" });
    expect((await user.call("GET", "/users/me")).body).toMatchObject({
      id: user.id,
      email: user.email,
      displayName: "Grace Hopper",
      platformAdmin: false,
      memberships: [],
    });
  });

  test("200 lists the user's organizations", async () => {
    const organization = await newOrganization();
    const user = await organization.join("ORG_MEMBER");
    const { body } = await user.call("GET", "/users/me");
    expect(body.memberships).toEqual([{ organizationId: organization.id, organizationName: `Organization ${organization.id}`, role: "ORG_MEMBER" }]);
  });
});
