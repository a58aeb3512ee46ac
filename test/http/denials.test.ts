import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { createLog } from "#log/log";
import { newAgent } from "../support/server/agents";
import { call } from "../support/server/call";
import { newOrganization, newUser, type TestOrganization } from "../support/server/people";
import { startServer, world } from "../support/server/world";

const lines: string[] = [];
const { deps, server, url } = startServer(world.config, world.database, undefined, createLog("info", { write: (line) => void lines.push(line) }));
afterAll(() => server.stop(true));
beforeEach(() => {
  lines.length = 0;
});

const secret = "s3cret-value";

/** What the trail of an organization says of refusals, the oldest first. */
async function denialsOf(organization: TestOrganization) {
  await deps.denials.flush();
  return (await organization.admin("GET", "/audit-events?action=access.denied&limit=100")).body.items.toReversed();
}

/** What the platform's trail says of them, since a moment. */
async function platformDenials(since: Date) {
  await deps.denials.flush();
  return world.sql`select actor, target_id as "targetId", request_id as "requestId", details from platform_audit_events
    where action = 'access.denied' and at >= ${since.toISOString()} order by id`;
}

describe("refusals in the audit trail", () => {
  test("401 and 403 at an organization are its events, counted, with who, from where, why and at which route", async () => {
    const organization = await newOrganization();
    const [stranger, member] = [await newUser(), await organization.join("ORG_MEMBER")];
    const path = `/organizations/${organization.id.toUpperCase()}/certificates`;
    const as = (role: string) => ({ ...organization.headers(role), "x-request-id": "denied-1" });
    for (let count = 0; count < 3; count++) await call("GET", path, { url, token: secret, headers: as("ORG_MEMBER") });
    await call("GET", path, { url, token: stranger.token, headers: as("ORG_MEMBER") });
    await call("POST", path, { url, token: member.token, headers: as("ORG_MEMBER"), body: { pem: secret } });
    const denied = { action: "access.denied", targetType: "route", requestId: "denied-1" };
    const seen = { count: 1, firstAt: expect.any(String), lastAt: expect.any(String), peer: "127.0.0.1" };
    const route = "/organizations/:organizationId/certificates";
    const events = await denialsOf(organization);
    expect(events).toMatchObject([
      {
        ...denied,
        actor: { type: "anonymous" },
        targetId: `GET ${route}`,
        details: { ...seen, count: 3, status: 401, reason: "the token is not valid, has expired or was signed out" },
      },
      {
        ...denied,
        actor: { type: "user", id: stranger.id },
        targetId: `GET ${route}`,
        details: { ...seen, status: 403, reason: "You have no access to this organization." },
      },
      {
        ...denied,
        actor: { type: "user", id: member.id },
        targetId: `POST ${route}`,
        details: { ...seen, status: 403, reason: "This needs the role ORG_ADMIN." },
      },
    ]);
    expect(JSON.stringify(events)).not.toContain(secret);
    expect(await denialsOf(organization)).toHaveLength(3);
  });

  test("401 elsewhere, and at organizations that do not exist, are the platform's: one row for a thousand", async () => {
    const since = new Date();
    const agent = await newAgent(await newOrganization());
    await call("GET", "/agent/assignments", { url, token: `${agent.token.slice(0, -3)}abc` });
    await call("GET", "/users/me", { url });
    const headers = { "x-organization-role": "ORG_MEMBER" };
    await Promise.all(
      Array.from({ length: 1_000 }, () =>
        call("GET", `/organizations/${crypto.randomUUID()}/agents`, { url, token: "nonsense", headers }).catch(() => undefined),
      ),
    );
    const rows = await platformDenials(since);
    expect(rows.find((row) => row.targetId === "GET /agent/assignments")).toMatchObject({ details: { reason: "no agent has this token", count: 1 } });
    expect(rows.find((row) => row.targetId === "GET /users/me")).toMatchObject({ details: { status: 401, reason: "there is no bearer token", count: 1 } });
    const strangers = rows.filter((row) => row.targetId === "GET /organizations/:organizationId/agents");
    expect(strangers.map((row) => row.details.count)).toEqual([1_000]);
  });

  test("neither 404 nor 400 is one", async () => {
    const organization = await newOrganization();
    await call("GET", `/organizations/${organization.id}/certificates/x`, { url, headers: organization.headers("ORG_ADMIN") });
    await call("GET", `/organizations/${organization.id}/certificates?limit=0`, { url, headers: organization.headers("ORG_ADMIN") });
    expect(await denialsOf(organization)).toEqual([]);
  });
});

describe("the log line of a refusal", () => {
  test.each([
    ["401", "/users/me", { authorization: `Bearer ${secret}` }, "the token is not valid, has expired or was signed out"],
    ["401", "/agent/assignments", {}, "there is no agent token"],
    ["401", "/metrics", { authorization: `Bearer ${secret}` }, "there is no METRICS_TOKEN, nor a trusted gateway's own request"],
    ["403", `/files/x?signature=${secret}`, {}, "This link is not valid."],
  ])("of %s at %s says why and from where, and holds nothing of the request", async (status, path, headers, reason) => {
    expect(String((await call("GET", path, { url, headers })).status)).toBe(status);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ status: Number(status), reason, peer: "127.0.0.1" });
    expect(lines[0]).not.toContain(secret);
  });

  test("of 429 too; of 200 it has neither", async () => {
    const user = await newUser();
    for (let count = 0; count < 11; count++) await user.call("POST", "/users/me/notifications/examples", { url, body: {} });
    const [first = "", last = ""] = [lines[0], lines.at(-1)];
    expect(JSON.parse(last)).toMatchObject({ status: 429, user: user.id, reason: expect.stringContaining("examples a minute"), peer: "127.0.0.1" });
    expect(Object.keys(JSON.parse(first))).not.toContain("peer");
  });

  test("of a user who is refused names the user", async () => {
    const [user, organization] = [await newUser(), await newOrganization()];
    await user.call("GET", `/organizations/${organization.id}/certificates`, { url, headers: organization.headers("ORG_MEMBER") });
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ status: 403, user: user.id });
  });
});
