import { describe, expect, test } from "bun:test";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { startWith } from "../auth/servers";
import { call } from "../support/server/call";
import { newUser } from "../support/server/people";
import { world } from "../support/server/world";

const OWN_ID = { status: 403, body: { message: "The header x-user-id must be the user id of your own token." } };
const STAFF_ONLY = { status: 403, body: { message: "Only platform staff may do this." } };
const NOT_STAFF_MAIL = { status: 403, body: { message: "The header x-platform-staff-email is not an address of a staff domain (PLATFORM_STAFF_DOMAINS)." } };
const OTHER_MAIL = { status: 403, body: { message: "The header x-platform-staff-email is not the e-mail address of your token." } };

type User = Awaited<ReturnType<typeof newUser>>;

async function newAdmin(claims = {}) {
  const user = await newUser(claims);
  await user.call("GET", "/users/me");
  await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
  return user;
}
const ask = ({ id, token }: Pick<User, "id" | "token">, headers: Record<string, string> = {}, url = world.url) =>
  call("GET", "/admin/organizations", { url, token, headers: { "x-user-id": id, ...headers } });

describe("platform staff", () => {
  test("401 without a token, whatever the headers and the body", async () => {
    const { id } = await newAdmin();
    const headers = { "x-user-id": id, "content-type": "application/json" };
    expect(await call("GET", "/admin/organizations", { headers })).toMatchObject({ status: 401, body: "" });
    expect(await call("POST", "/admin/organizations", { headers, raw: "{" })).toMatchObject({ status: 401, body: "" });
  });

  test("403 without x-user-id, with a broken one, twice, or with another admin's", async () => {
    const [admin, other] = [await newAdmin(), await newAdmin()];
    expect(await call("GET", "/admin/organizations", { token: admin.token })).toMatchObject(OWN_ID);
    for (const id of ["", "1", other.id, `${admin.id}, ${admin.id}`, `{${admin.id}}`]) expect(await ask(admin, { "x-user-id": id })).toMatchObject(OWN_ID);
  });

  test("403 for any other user, before the body is read", async () => {
    const user = await newUser();
    expect(await ask(user)).toMatchObject(STAFF_ONLY);
    const headers = { "x-user-id": user.id, "content-type": "application/json" };
    expect(await user.call("POST", "/admin/organizations", { headers, raw: "{" })).toMatchObject(STAFF_ONLY);
    expect(await ask(await newUser({ platform_admin: true, role: "admin" }))).toMatchObject(STAFF_ONLY);
  });

  test("403 once the right is taken away", async () => {
    const admin = await newAdmin();
    expect((await ask(admin)).status).toBe(200);
    await grantPlatformAdmin(world.sql, world.deps.stamps, admin.id, false);
    expect(await ask(admin)).toMatchObject(STAFF_ONLY);
  });

  test.each([
    "",
    "ada",
    "@certitude.example",
    "ada@evil.example",
    "ada@certitude.example.evil.example",
    "ada@sub.certitude.example",
    "ada@evilcertitude.example",
    "ada@evil.example@certitude.example",
    "ada@certitude.example, ada@evil.example",
    "ada@evil.example, ada@certitude.example",
    "nobody, ada@certitude.example",
    "ada @certitude.example",
  ])("403 for the staff e-mail %j", async (email) => {
    expect(await ask(await newAdmin({ email: undefined }), { "x-platform-staff-email": email })).toMatchObject(NOT_STAFF_MAIL);
  });

  test("403 for a colleague's staff e-mail", async () => {
    const admin = await newAdmin({ email: "ada@certitude.example" });
    expect(await ask(admin, { "x-platform-staff-email": "grace@certitude.example" })).toMatchObject(OTHER_MAIL);
    expect(await ask(await newAdmin(), { "x-platform-staff-email": "ada@certitude.example" })).toMatchObject(OTHER_MAIL);
  });

  test("403 for any staff e-mail while no domain is known", async () => {
    await using server = startWith({ PLATFORM_STAFF_DOMAINS: undefined });
    const admin = await newAdmin({ email: undefined });
    expect(await ask(admin, { "x-platform-staff-email": "ada@certitude.example" }, server.url)).toMatchObject(NOT_STAFF_MAIL);
    expect((await ask(admin, {}, server.url)).status).toBe(200);
  });

  test("200 with the right granted on the command line, the id in any letters, and the e-mail sent or not", async () => {
    const admin = await newAdmin({ email: "Ada@Certitude.example" });
    expect((await ask(admin)).status).toBe(200);
    expect((await ask(admin, { "x-user-id": admin.id.toUpperCase() })).status).toBe(200);
    expect((await ask(admin, { "x-platform-staff-email": "ADA@certitude.EXAMPLE" })).status).toBe(200);
    expect((await ask(await newAdmin({ email: undefined }), { "x-platform-staff-email": "ada@certitude.example" })).status).toBe(200);
  });

  test("200 for each of PLATFORM_ADMINS", async () => {
    const [one, two, other] = [await newUser(), await newUser(), await newUser()];
    await using server = startWith({ PLATFORM_ADMINS: `${one.id}, ${two.id.toUpperCase()}` });
    expect((await ask(one, {}, server.url)).status).toBe(200);
    expect((await ask(two, {}, server.url)).status).toBe(200);
    expect(await ask(other, {}, server.url)).toMatchObject(STAFF_ONLY);
    expect(await ask(one)).toMatchObject(STAFF_ONLY);
  });
});
