import { describe, expect, test } from "bun:test";
import { grantPlatformAdmin } from "../../../src/modules/users/queries";
import { call } from "../../support/call";
import { newUser } from "../../support/people";
import { world } from "../../support/world";

/** A user of the platform's staff; calls carry the staff headers. */
async function newStaff() {
  const user = await newUser();
  await user.call("GET", "/users/me");
  await grantPlatformAdmin(world.sql, user.id, true);
  const staff = { headers: { "x-user-id": user.id } };
  return { ...user, call: (method: string, path: string, body?: unknown) => user.call(method, path, { ...staff, ...(body !== undefined && { body }) }) };
}

describe("POST /admin/organizations", () => {
  test("401 for a stranger, 403 for a user who is no staff", async () => {
    const user = await newUser();
    expect(await call("POST", "/admin/organizations", { body: {} })).toMatchObject({ status: 401, body: "" });
    expect((await user.call("POST", "/admin/organizations", { body: {}, headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test.each([
    [{}, "body.name is required."],
    [{ name: " " }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ name: "x".repeat(201) }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ name: "A", seatLimit: "5" }, "body.seatLimit must be a whole number from 1 to 1000000."],
    [{ name: "A", seatLimit: 0 }, "body.seatLimit must be a whole number from 1 to 1000000."],
    [{ name: "A", seatLimit: 1.5 }, "body.seatLimit must be a whole number from 1 to 1000000."],
    [{ name: "A", seatLimit: 2 ** 40 }, "body.seatLimit must be a whole number from 1 to 1000000."],
    [{ name: "A", id: "x" }, "body.id is not a known field."],
  ])("400 for %j", async (body, message) => {
    const staff = await newStaff();
    expect(await staff.call("POST", "/admin/organizations", body)).toMatchObject({ status: 400, body: { message } });
  });

  test("201 creates it, and its audit trail begins with that", async () => {
    const staff = await newStaff();
    const { status, body } = await staff.call("POST", "/admin/organizations", { name: "  Example Ltd ", seatLimit: 5 });
    expect({ status, body }).toMatchObject({ status: 201, body: { name: "Example Ltd", seatLimit: 5 } });
    const headers = { "x-organization-id": body.id, "x-organization-role": "ORG_ADMIN" };
    const trail = await call("GET", `/organizations/${body.id}/audit-events`, { headers });
    expect(trail.body.items).toMatchObject([
      { action: "organization.created", targetId: body.id, actor: { type: "user", id: staff.id }, details: { name: "Example Ltd" } },
    ]);
  });
});

describe("GET /admin/organizations", () => {
  test("400 for a cursor that is none of ours", async () => {
    const staff = await newStaff();
    expect((await staff.call("GET", "/admin/organizations?cursor=zzz")).status).toBe(400);
  });

  test("200 newest first, page by page", async () => {
    const staff = await newStaff();
    const ids = [];
    for (const name of ["one", "two", "three"]) ids.push((await staff.call("POST", "/admin/organizations", { name })).body.id);
    const first = (await staff.call("GET", "/admin/organizations?limit=2")).body;
    expect(first.items.map((each: { id: string }) => each.id)).toEqual([ids[2], ids[1]]);
    const second = (await staff.call("GET", `/admin/organizations?limit=1&cursor=${first.nextCursor}`)).body;
    expect(second.items.map((each: { id: string }) => each.id)).toEqual([ids[0]]);
  });
});
