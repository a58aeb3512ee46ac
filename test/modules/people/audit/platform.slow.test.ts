import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { call } from "../../../support/server/call";
import { DOCUMENTS, newStaff, type Staff, upload, withJobs } from "../../../support/server/knowledge";
import { newOrganization, newUser } from "../../../support/server/people";
import { endServers, newPlace, run, serve } from "../../../support/server/program";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);
withJobs();
afterAll(endServers);

const EVENTS = "/admin/audit-events";

async function eventsOn(staff: Staff, targetId: string) {
  await world.deps.reads.flush();
  const { status, body } = await staff.call("GET", `${EVENTS}?targetId=${targetId}&limit=100`);
  expect(status).toBe(200);
  return body.items.toReversed();
}

describe("GET /admin/audit-events", () => {
  test("401 for a stranger, 403 for a user who is no staff", async () => {
    const user = await newUser();
    expect(await call("GET", EVENTS)).toMatchObject({ status: 401, body: "" });
    expect((await user.call("GET", EVENTS, { headers: { "x-user-id": user.id } })).status).toBe(403);
  });

  test("400 for a filter that is none", async () => {
    const staff = await newStaff();
    expect((await staff.call("GET", `${EVENTS}?actor=ada`)).status).toBe(400);
    expect((await staff.call("GET", `${EVENTS}?limit=0`)).status).toBe(400);
  });

  test("200 with grants and revocations of platform administration, each once", async () => {
    const staff = await newStaff();
    for (const granted of [true, false, false, true]) await grantPlatformAdmin(world.sql, world.deps.stamps, staff.id, granted);
    const { items } = (await staff.call("GET", `${EVENTS}?targetId=${staff.id}&actor=command-line`)).body;
    const actions = items.map((each: { action: string }) => each.action);
    expect(actions).toEqual(["platform-admin.granted", "platform-admin.revoked", "platform-admin.granted"]);
  });

  test("200 with a sign-out, once", async () => {
    const [staff, user] = [await newStaff(), await newUser()];
    const { headers } = await user.call("POST", "/auth/sign-out");
    await user.call("POST", "/auth/sign-out");
    const event = { action: "user.signed-out", actor: { type: "user", id: user.id }, requestId: headers.get("x-request-id") };
    expect(await eventsOn(staff, user.id)).toMatchObject([event]);
  });

  test("200 with new organizations", async () => {
    const staff = await newStaff();
    const { body } = await staff.call("POST", "/admin/organizations", { body: { name: "Engines" } });
    const event = { action: "organization.created", actor: { type: "user", id: staff.id }, details: { name: "Engines" } };
    expect(await eventsOn(staff, body.id)).toMatchObject([event]);
  });

  test("200 with what staff read of a document, the link, and who fetched what with it", async () => {
    const [staff, organization] = [await newStaff(), await newOrganization()];
    const { id } = await upload(staff, organization.id);
    for (const path of [id, id, `${id}/chunks`]) await staff.call("GET", `${DOCUMENTS}/${path}`);
    const { body } = await staff.call("GET", `${DOCUMENTS}/${id}/download`);
    const { pathname, search } = new URL(body.url);
    for (const range of [{}, {}, { range: "bytes=0-3" }]) await call("GET", pathname + search, { headers: range });
    await call("HEAD", pathname + search);
    await call("GET", `${pathname}${search}0`);
    const reader = { actor: { type: "user", id: staff.id }, action: "document.read" };
    const fetched = { actor: { type: "anonymous" }, action: "document.downloaded" };
    const from = { organizationId: organization.id, peer: "127.0.0.1" };
    const events = await eventsOn(staff, id);
    expect(events).toHaveLength(6);
    expect(events).toMatchObject([
      { action: "document.link-made", actor: { type: "user", id: staff.id }, details: { organizationId: organization.id, expiresAt: body.expiresAt } },
      { ...reader, details: { organizationId: organization.id, part: "document", count: 2 } },
      { ...reader, details: { organizationId: organization.id, part: "chunks", count: 1 } },
      { ...fetched, details: { ...from, method: "GET", isPartial: false, count: 2 } },
      { ...fetched, details: { ...from, method: "GET", isPartial: true, count: 1 } },
      { ...fetched, details: { ...from, method: "HEAD", isPartial: false, count: 1 } },
    ]);
  });
});

describe("the events of the command line", () => {
  test("tokens, grants and organizations, also those from before the server ran and from beside it", async () => {
    const place = await newPlace();
    const user = crypto.randomUUID();
    await run(["token", "--user", user, "--email", "ada@people.example", "--ttl", "1h"], place.env);
    const { out: token } = await run(["token", "--user", user, "--staff"], place.env);
    const server = serve(place.env);
    const url = await server.url();
    await run(["token", "--user", user, "--ttl", "2h"], place.env);
    const read = async () => (await call("GET", `${EVENTS}?targetId=${user}`, { url, token, headers: { "x-user-id": user } })).body.items.toReversed();
    while ((await read()).length < 4) await Bun.sleep(100);
    const minted = { action: "user-token.minted", actor: { type: "command-line" }, targetType: "user", targetId: user };
    expect(await read()).toMatchObject([
      { ...minted, details: { email: "ada@people.example", staff: false, expiresAt: expect.any(String) } },
      { action: "platform-admin.granted", actor: { type: "command-line" } },
      { ...minted, details: { staff: true } },
      { ...minted, details: { staff: false } },
    ]);
    await server.exit("SIGTERM");
    await place.remove();
  });
});

describe("refusals at a running server", () => {
  test("are in the trail after some seconds, and what was counted last when it ends", async () => {
    const place = await newPlace();
    const user = crypto.randomUUID();
    const { out: token } = await run(["token", "--user", user, "--staff"], place.env);
    const server = serve(place.env);
    const url = await server.url();
    const counts = async (at: string) => {
      const { body } = await call("GET", `${EVENTS}?action=access.denied`, { url: at, token, headers: { "x-user-id": user } });
      return body.items.map((each: { details: { count: number } }) => each.details.count);
    };
    const stranger = () => call("GET", "/users/me", { url });
    await Promise.all([stranger(), stranger(), stranger()]);
    const total = (list: number[]) => list.reduce((sum, each) => sum + each, 0);
    let before = await counts(url);
    for (; total(before) < 3; before = await counts(url)) await Bun.sleep(200); // the three may be noted in two rounds
    expect(total(before)).toBe(3);
    await stranger();
    expect(await server.exit("SIGTERM")).toMatchObject({ code: 0 });
    const next = serve(place.env);
    expect(await counts(await next.url())).toEqual([1, ...before]);
    await next.exit("SIGTERM");
    await place.remove();
  });
});
