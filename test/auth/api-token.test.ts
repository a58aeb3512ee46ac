import { describe, expect, test } from "bun:test";
import { createLog } from "#log/log";
import { certificate, importInto } from "../support/pki/certificates";
import { API_TOKENS, newApiToken } from "../support/server/api-tokens";
import { call } from "../support/server/call";
import { newOrganization, type TestOrganization } from "../support/server/people";
import { statementsDuring } from "../support/server/statements";
import { startServer, world } from "../support/server/world";
import { startWith } from "./servers";

const NO_ACCESS = { status: 403, body: { message: "You have no access to this organization." } };
const NEEDS_ADMIN = { status: 403, body: { message: "This needs the role ORG_ADMIN." } };
const MINUTE = 60_000;

const list = (organization: TestOrganization, token: string, { role = "ORG_ADMIN", url = world.url } = {}) =>
  call("GET", `/organizations/${organization.id}/certificates`, { headers: organization.headers(role), token, url });
const rename = (organization: TestOrganization, token: string, role = "ORG_ADMIN") =>
  call("POST", `/organizations/${organization.id}/agents`, { headers: organization.headers(role), token, body: { name: "web-01" } });
const lastUseOf = async (organization: TestOrganization, id: string) => (await organization.admin("GET", `${API_TOKENS}/${id}`)).body.lastUsedAt;

async function until<Value>(look: () => Promise<Value>, isRight: (value: Value) => boolean) {
  for (;;) {
    const value = await look();
    if (isRight(value)) return value;
    await Bun.sleep(10);
  }
}

describe("an API token in the operations of its organization", () => {
  test("401 for one that was never made, whatever it looks like", async () => {
    const organization = await newOrganization();
    const { token } = await newApiToken(organization);
    for (const wrong of [`cat_${"A".repeat(43)}`, token.slice(0, -1), `${token}A`, token.slice(4), token.toUpperCase(), "cat_"])
      expect(await list(organization, wrong)).toMatchObject({ status: 401, body: "" });
  });

  test("403 in another organization, in the same words as in one that does not exist", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const { token } = await newApiToken(organization);
    expect(await list(other, token)).toMatchObject(NO_ACCESS);
    const nowhere = crypto.randomUUID();
    const headers = { ...organization.headers("ORG_MEMBER"), "x-organization-id": nowhere };
    expect(await call("GET", `/organizations/${nowhere}/certificates`, { headers, token })).toMatchObject(NO_ACCESS);
  });

  test("403 for a role above its own, and for a write in the role ORG_MEMBER", async () => {
    const organization = await newOrganization();
    const [reader, admin] = [await newApiToken(organization, { role: "ORG_MEMBER" }), await newApiToken(organization)];
    expect(await list(organization, reader.token)).toMatchObject(NEEDS_ADMIN);
    expect(await rename(organization, reader.token)).toMatchObject(NEEDS_ADMIN);
    expect(await rename(organization, reader.token, "ORG_MEMBER")).toMatchObject(NEEDS_ADMIN);
    expect(await rename(organization, admin.token, "ORG_MEMBER")).toMatchObject(NEEDS_ADMIN);
  });

  test("200 and 201 in its role, from an address that nobody trusts", async () => {
    await using outside = startWith({ TRUSTED_GATEWAYS: "10.0.0.0/8" });
    const organization = await newOrganization();
    const [reader, admin] = [await newApiToken(organization, { role: "ORG_MEMBER" }), await newApiToken(organization)];
    expect((await list(organization, reader.token, { role: "ORG_MEMBER", url: outside.url })).status).toBe(200);
    expect((await list(organization, admin.token, { role: "ORG_MEMBER", url: outside.url })).status).toBe(200);
    expect((await rename(organization, admin.token)).status).toBe(201);
  });

  test("401 from the moment that it is revoked, on every server", async () => {
    await using other = startWith({});
    const organization = await newOrganization();
    const { id, token } = await newApiToken(organization);
    for (const url of [world.url, other.url]) expect((await list(organization, token, { url })).status).toBe(200);
    expect((await organization.admin("DELETE", `${API_TOKENS}/${id}`)).status).toBe(204);
    for (const url of [world.url, other.url]) expect((await list(organization, token, { url })).status).toBe(401);
  });

  test("401 from the moment that it expires", async () => {
    let now = Date.now();
    await using other = startWith({}, () => new Date(now));
    const organization = await newOrganization();
    const { token } = await newApiToken(organization, { expiresAt: new Date(now + 10 * MINUTE).toISOString() });
    expect((await list(organization, token, { url: other.url })).status).toBe(200);
    now += 10 * MINUTE;
    expect(await list(organization, token, { url: other.url })).toMatchObject({ status: 401, body: "" });
  });

  test("costs one statement, which takes the place of the membership's", async () => {
    const organization = await newOrganization();
    const [{ id, token }, user] = [await newApiToken(organization), await organization.join()];
    const count = async (each: string) => (await statementsDuring(() => list(organization, each), /organization_id/)).length;
    await list(organization, token);
    await list(organization, user.token);
    await until(
      () => lastUseOf(organization, id),
      (at) => at !== null,
    );
    expect([await count(token), await count(user.token)]).toEqual([2, 2]);
  });

  test("its last use is noted, and again only after a minute", async () => {
    let now = Date.now();
    await using other = startWith({}, () => new Date(now));
    const organization = await newOrganization();
    const { id, token } = await newApiToken(organization);
    expect(await lastUseOf(organization, id)).toBeNull();
    const use = async (later: number) => {
      now += later;
      await Promise.all(Array.from({ length: 5 }, () => list(organization, token, { url: other.url })));
    };
    await use(0);
    const first = await until(
      () => lastUseOf(organization, id),
      (at) => at !== null,
    );
    expect(first).toBe(new Date(now).toISOString());
    await use(MINUTE / 2);
    await use(MINUTE);
    expect(
      await until(
        () => lastUseOf(organization, id),
        (at) => at !== first,
      ),
    ).toBe(new Date(now).toISOString());
  });

  test("the audit trail and the request log name it", async () => {
    const lines: string[] = [];
    const other = startServer(world.config, world.database, undefined, createLog("info", { write: (line) => void lines.push(line) }));
    const organization = await newOrganization();
    const { id, token } = await newApiToken(organization);
    await list(organization, token, { url: other.url });
    await other.server.stop(true);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ apiToken: id, organization: organization.id, status: 200 });
    expect(JSON.parse(lines[0] ?? "").user).toBeUndefined();
    expect(lines.join("")).not.toContain(token);
    await rename(organization, token);
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "agent.created", actor: { type: "api-token", id, role: "ORG_ADMIN" } });
  });
});

describe("an API token in the portal", () => {
  const read = (organization: TestOrganization, id: string, token: string) =>
    call("GET", `/portal/organizations/${organization.id}/certificates/${id}`, { token });

  test("200 in its organization in either role, 404 in another one, 401 once revoked", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const [[ours = ""], [theirs = ""]] = [await importInto(organization, certificate().pem), await importInto(other, certificate().pem)];
    for (const role of ["ORG_MEMBER", "ORG_ADMIN"]) {
      const { id, token } = await newApiToken(organization, { role });
      expect(await read(organization, ours, token)).toMatchObject({ status: 200, body: { id: ours } });
      expect((await read(other, theirs, token)).status).toBe(404);
      expect((await read(organization, theirs, token)).status).toBe(404);
      await organization.admin("DELETE", `${API_TOKENS}/${id}`);
      expect(await read(organization, ours, token)).toMatchObject({ status: 401, body: "" });
    }
  });
});
