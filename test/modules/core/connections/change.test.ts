import { describe, expect, test } from "bun:test";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const PATH = "/core/connections";
const body = (name: string) => ({
  kind: "jira",
  name,
  config: { baseUrl: "https://jira.example", email: "ada@certitude.example", projectKey: "PKI" },
  secrets: { apiToken: "one" },
});

async function withConnection(name = "Tickets") {
  const organization = await newOrganization();
  const created = await organization.admin("POST", PATH, { body: body(name) });
  return { organization, id: created.body.id as string, path: `${PATH}/${created.body.id}`, created: created.body };
}

describe("PATCH /organizations/{organizationId}/core/connections/{connectionId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withConnection();
    expect((await organization.member("PATCH", path, { body: { name: "x" } })).status).toBe(403);
  });

  test.each([
    [{}, "The body must have at least 1 of its fields."],
    [{ kind: "github" }, "body.kind is not a known field."],
    [{ name: "" }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ name: null }, "body.name must be text of 1 to 200 characters, without NUL."],
    [{ config: null }, "body.config must be an object."],
    [{ config: { nothing: 1 } }, "body.config.nothing is not a known field of jira."],
    [{ config: { projectKey: null } }, "body.config.projectKey is required for jira."],
    [{ config: { deployment: "moon" } }, "body.config.deployment must be one of cloud, data_center."],
    [{ secrets: { apiToken: null } }, "body.secrets.apiToken is required for jira."],
    [{ secrets: { apiToken: 5 } }, "body.secrets.apiToken must be text of 1 to 16000 characters, without NUL."],
  ])("400 for %j", async (patch, message) => {
    const { organization, path, created } = await withConnection();
    expect(await organization.admin("PATCH", path, { body: patch })).toMatchObject({ status: 400, body: { message } });
    expect((await organization.admin("GET", path)).body).toEqual(created);
  });

  test.each(["Other", "OTHER", "ｏther"])("409 for another connection's name, here %s; 200 for its own in another case", async (name) => {
    const { organization, path } = await withConnection();
    await organization.admin("POST", PATH, { body: body("Other") });
    expect(await organization.admin("PATCH", path, { body: { name } })).toMatchObject({
      status: 409,
      body: { message: 'body.name is taken: another connection is named "Other".' },
    });
    expect(await organization.admin("PATCH", path, { body: { name: "TICKETS" } })).toMatchObject({ status: 200, body: { name: "TICKETS", version: 2 } });
    expect((await organization.admin("PATCH", path, { body: { name: "Requests" } })).status).toBe(200);
    expect((await organization.admin("POST", PATH, { body: body("tickets") })).status).toBe(201);
  });

  test("404 for another organization's and for what is no id", async () => {
    const [{ path }, other] = [await withConnection(), await newOrganization()];
    expect((await other.admin("PATCH", path, { body: { name: "x" } })).status).toBe(404);
    expect((await other.admin("PATCH", `${PATH}/x`, { body: { name: "x" } })).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const { organization, path } = await withConnection();
    for (const tag of ['"2"', "1", 'W/"1"', "x"])
      expect(await organization.admin("PATCH", path, { body: { name: "x" }, headers: { "if-match": tag } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).body).toMatchObject({ name: "Tickets", version: 1 });
  });

  test("200 merges config and secrets, null removes, defaults come back", async () => {
    const { organization, id, path } = await withConnection();
    const patch = { config: { email: "eve@certitude.example", deployment: "data_center", issueType: "Bug" } };
    const first = await organization.admin("PATCH", path, { body: patch, headers: { "if-match": '"1"' } });
    expect(first).toMatchObject({ status: 200, body: { name: "Tickets", version: 2, secretNames: ["apiToken"] } });
    expect(first.headers.get("etag")).toBe('"2"');
    expect(first.body.config).toEqual({ baseUrl: "https://jira.example", projectKey: "PKI", ...patch.config });
    const second = await organization.admin("PATCH", path, { body: { name: "Bugs", config: { email: null, issueType: null }, secrets: { apiToken: "two" } } });
    expect(second.body).toMatchObject({ name: "Bugs", version: 3 });
    expect(second.body.config).toEqual({ baseUrl: "https://jira.example", projectKey: "PKI", deployment: "data_center", issueType: "Task" });
    const { items } = (await organization.admin("GET", "/audit-events?limit=2")).body;
    expect(items).toMatchObject([
      { action: "connection.updated", targetId: id, details: { changed: ["name", "config", "secrets"] } },
      { action: "connection.updated", targetId: id, details: { changed: ["config"] } },
    ]);
  });

  test("200 keeps version and audit trail for what changes nothing, the same secret included", async () => {
    const { organization, path, created } = await withConnection();
    const same = { name: " Tickets ", config: { projectKey: "PKI" }, secrets: { apiToken: "one" } };
    expect((await organization.admin("PATCH", path, { body: same })).body).toEqual(created);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items.map((each: { action: string }) => each.action)).toEqual(["connection.created", "organization.created"]);
  });

  test("200 makes the last test void unless only the name is new", async () => {
    const { organization, id, path } = await withConnection();
    await world.sql`update connections set tested_at = now(), test_outcome = 'ok', test_message = 'Fine.' where organization_id = ${organization.id} and id = ${id}`;
    expect((await organization.admin("PATCH", path, { body: { name: "x" } })).body.lastTest).toMatchObject({ outcome: "ok", message: "Fine." });
    expect((await organization.admin("PATCH", path, { body: { secrets: { apiToken: "three" } } })).body.lastTest).toBeNull();
  });

  test("200 for exactly one of twenty with the same If-Match, 412 for the others", async () => {
    const { organization, path } = await withConnection();
    const change = (index: number) => organization.admin("PATCH", path, { body: { name: `Name ${index}` }, headers: { "if-match": '"1"' } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => change(index)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array(19).fill(412)]);
  });

  test("200 loses none of twenty changes at once without If-Match", async () => {
    const { organization, path } = await withConnection();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => organization.admin("PATCH", path, { body: { config: { issueType: `T${index}` } } })),
    );
    expect(answers.map((each) => each.body.version).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, index) => index + 2));
  });

  test("200 for exactly one of ten connections that race for a name", async () => {
    const organization = await newOrganization();
    const names = Array.from({ length: 10 }, (_, index) => `C${index}`);
    const created = await Promise.all(names.map((name) => organization.admin("POST", PATH, { body: body(name) })));
    const rename = created.map((each) => organization.admin("PATCH", `${PATH}/${each.body.id}`, { body: { name: "Wanted" } }));
    const answers = await Promise.all([...rename, organization.admin("POST", PATH, { body: body("Wanted") })]);
    expect(answers.filter((each) => each.status < 300)).toHaveLength(1);
    const [renamed, made] = [answers.slice(0, 10), answers.slice(10)];
    expect([...renamed.filter((each) => each.status === 409), ...made.filter((each) => each.status === 400)]).toHaveLength(10);
  });
});

describe("DELETE /organizations/{organizationId}/core/connections/{connectionId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withConnection();
    expect((await organization.member("DELETE", path)).status).toBe(403);
  });

  test("404 for another organization's and for what is no id", async () => {
    const [{ path }, other] = [await withConnection(), await newOrganization()];
    expect((await other.admin("DELETE", path)).status).toBe(404);
    expect((await other.admin("DELETE", `${PATH}/x`)).status).toBe(404);
  });

  test("412 for a stale If-Match, and it stays", async () => {
    const { organization, path } = await withConnection();
    expect(await organization.admin("DELETE", path, { headers: { "if-match": '"7"' } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).status).toBe(200);
  });

  test("204 once, then 404, and its name is free again", async () => {
    const { organization, id, path } = await withConnection();
    const answers = await Promise.all(Array.from({ length: 10 }, () => organization.admin("DELETE", path)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([204, ...Array(9).fill(404)]);
    expect((await organization.admin("GET", path)).status).toBe(404);
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "connection.deleted", targetId: id, details: { kind: "jira", name: "Tickets" } });
    expect((await organization.admin("POST", PATH, { body: body("Tickets") })).status).toBe(201);
  });
});
