import { describe, expect, test } from "bun:test";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { newApiToken } from "../../../support/server/api-tokens";
import { call } from "../../../support/server/call";
import { newOrganization, newUser } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";
import { world } from "../../../support/server/world";

/** A user of the platform's staff; calls carry the staff headers. */
async function newStaff() {
  const user = await newUser();
  await user.call("GET", "/users/me");
  await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
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

describe("PATCH /admin/organizations/{organizationId}", () => {
  test("401 for a stranger, 403 for a user who is no staff, 404 for one that does not exist", async () => {
    const [staff, user, { id }] = [await newStaff(), await newUser(), await newOrganization()];
    const path = `/admin/organizations/${id}`;
    expect(await call("PATCH", path, { body: { seatLimit: 1 } })).toMatchObject({ status: 401, body: "" });
    expect((await user.call("PATCH", path, { body: { seatLimit: 1 }, headers: { "x-user-id": user.id } })).status).toBe(403);
    for (const unknown of [crypto.randomUUID(), "nonsense"]) {
      expect((await staff.call("PATCH", `/admin/organizations/${unknown}`, { seatLimit: 1 })).status).toBe(404);
      expect((await staff.call("GET", `/admin/organizations/${unknown}`)).status).toBe(404);
    }
  });

  test.each([
    [{}, "The body must have at least 1 of its fields."],
    [{ name: null }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ seatLimit: 0 }, "body.seatLimit must be a whole number from 1 to 1000000."],
    [{ seatLimit: "5" }, "body.seatLimit must be a whole number from 1 to 1000000."],
    [{ id: "x" }, "body.id is not a known field."],
  ])("400 for %j", async (body, message) => {
    const [staff, { id }] = [await newStaff(), await newOrganization()];
    expect(await staff.call("PATCH", `/admin/organizations/${id}`, body)).toMatchObject({ status: 400, body: { message } });
  });

  test("200 changes name and seat limit, null takes the limit away, and the audit trail keeps both sides", async () => {
    const [staff, organization] = [await newStaff(), await newOrganization({ seatLimit: 5 })];
    const path = `/admin/organizations/${organization.id}`;
    const { name } = (await staff.call("GET", path)).body;
    const changed = await staff.call("PATCH", path, { name: " New ", seatLimit: 7 });
    expect([changed.status, changed.headers.get("etag")]).toEqual([200, '"2"']);
    expect(changed.body).toMatchObject({ id: organization.id, name: "New", seatLimit: 7, seatsTaken: 0, version: 2 });
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({
      action: "organization.updated",
      targetId: organization.id,
      actor: { type: "user", id: staff.id },
      details: { from: { name, seatLimit: 5 }, to: { name: "New", seatLimit: 7 } },
    });
    const trail = (await staff.call("GET", `/admin/audit-events?targetId=${organization.id}`)).body.items;
    expect(trail).toMatchObject([{ action: "organization.updated", actor: { type: "user", id: staff.id }, details: event.details }, {}]);
    expect((await staff.call("PATCH", path, { name: "New" })).body).toMatchObject({ seatLimit: 7, version: 2 });
    expect((await staff.call("PATCH", path, { seatLimit: null })).body).toMatchObject({ name: "New", seatLimit: null, version: 3 });
    expect((await staff.call("GET", path)).headers.get("etag")).toEqual(readTag(3));
  });
});

describe("GET /organizations/{organizationId}", () => {
  test("200 in either role: name, seats and ETag; expired invitations take no seat", async () => {
    const organization = await newOrganization({ seatLimit: 5 });
    const user = await organization.join();
    for (const email of ["a@people.example", "b@people.example"]) await organization.admin("POST", "/members", { body: { email } });
    await world.sql`
      update members set invitation_expires_at = now() - interval '1 second' where organization_id = ${organization.id} and email = 'b@people.example'`;
    for (const read of [organization.admin, organization.member]) {
      const { status, body, headers } = await read("GET", "", { token: user.token });
      expect([status, headers.get("etag")]).toEqual([200, readTag(1)]);
      expect(body).toMatchObject({ id: organization.id, name: `Organization ${organization.id}`, seatLimit: 5, seatsTaken: 2, version: 1 });
    }
  });
});

describe("PATCH /organizations/{organizationId}", () => {
  test("403 for an ORG_MEMBER, and for the seat limit to all but platform staff", async () => {
    const organization = await newOrganization({ seatLimit: 5 });
    const [admin, staff] = [await organization.join(), await organization.join()];
    await grantPlatformAdmin(world.sql, world.deps.stamps, staff.id, true);
    expect((await organization.member("PATCH", "", { body: { name: "New" } })).status).toBe(403);
    const refusal = { status: 403, body: { message: "Only platform staff may change body.seatLimit." } };
    for (const wish of [{}, { token: admin.token }, { token: (await newApiToken(organization)).token }])
      for (const seatLimit of [6, null]) expect(await organization.admin("PATCH", "", { body: { name: "New", seatLimit }, ...wish })).toMatchObject(refusal);
    expect((await organization.admin("GET", "")).body).toMatchObject({ name: `Organization ${organization.id}`, seatLimit: 5, version: 1 });
    expect(await organization.admin("PATCH", "", { body: { seatLimit: 6 }, token: staff.token })).toMatchObject({ status: 200, body: { seatLimit: 6 } });
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const organization = await newOrganization();
    const stale = await organization.admin("PATCH", "", { body: { name: "New" }, headers: { "if-match": '"2"' } });
    expect(stale).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", "")).body.version).toBe(1);
  });

  test("200 for exactly one of twenty with the same If-Match", async () => {
    const organization = await newOrganization();
    const rename = (index: number) => organization.admin("PATCH", "", { body: { name: `Name ${index}` }, headers: { "if-match": '"1"' } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => rename(index)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array(19).fill(412)]);
    expect((await organization.admin("GET", "")).body.version).toBe(2);
  });
});
