import { describe, expect, test } from "bun:test";
import { addWidget } from "../../../support/server/dashboards";
import { newOrganization } from "../../../support/server/people";

const PATH = "/core/widgets";

async function withWidget(rest: object = {}) {
  const organization = await newOrganization();
  const created = await addWidget(organization, "certificates_by_issuer", {}, { title: "Issuers", ...rest });
  return { organization, created, id: created.id as string, path: `${PATH}/${created.id}` };
}

describe("PATCH /organizations/{organizationId}/core/widgets/{widgetId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withWidget();
    expect((await organization.member("PATCH", path, { body: { title: "x" } })).status).toBe(403);
  });

  test.each([
    [{}, "The body must have at least 1 of its fields."],
    [{ kind: "agent_health" }, "body.kind is not a known field."],
    [{ title: null }, "body.title must be text of 1 to 200 characters, without NUL."],
    [{ settings: { topN: 51 } }, "body.settings.topN must be a whole number from 1 to 50."],
    [{ settings: { nothing: 1 } }, "body.settings.nothing is not a known field of certificates_by_issuer."],
    [{ dashboard: " " }, /^body\.dashboard must be/],
    [{ position: {} }, "body.position must have at least 1 of its fields."],
    [{ position: { z: 1 } }, "body.position.z is not a known field."],
    [{ position: { width: 0 } }, "body.position.width must be a whole number from 1 to 12."],
    [{ position: { x: 9 } }, "body.position must stay within the 12 columns, but x and width are 13 together."],
  ])("400 for %j", async (body, message) => {
    const { organization, path, created } = await withWidget();
    const answer = await organization.admin("PATCH", path, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    expect((await organization.admin("GET", path)).body).toEqual(created);
  });

  test("400 where it would overlap another widget, not where it overlaps itself", async () => {
    const { organization, path } = await withWidget();
    await addWidget(organization, "agent_health", {}, { title: "Agents", position: { x: 6, y: 0, width: 4, height: 4 } });
    expect(await organization.admin("PATCH", path, { body: { position: { width: 7 } } })).toMatchObject({
      status: 400,
      body: { message: 'body.position overlaps the widget "Agents", which is 4 × 4 at x 6, y 0.' },
    });
    expect((await organization.admin("PATCH", path, { body: { position: { x: 1, y: 1 } } })).body.position).toEqual({ x: 1, y: 1, width: 4, height: 4 });
  });

  test("404 for another organization's and for what is no id", async () => {
    const [{ path }, other] = [await withWidget(), await newOrganization()];
    expect((await other.admin("PATCH", path, { body: { title: "x" } })).status).toBe(404);
    expect((await other.admin("PATCH", `${PATH}/x`, { body: { title: "x" } })).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const { organization, path, created } = await withWidget();
    for (const tag of ['"2"', "1", 'W/"1"'])
      expect(await organization.admin("PATCH", path, { body: { title: "x" }, headers: { "if-match": tag } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).body).toEqual(created);
  });

  test("200 merges settings, null brings the default back, and moves to another dashboard", async () => {
    const { organization, id, path } = await withWidget();
    await addWidget(organization, "agent_health", {}, { dashboard: "ops" });
    const first = await organization.admin("PATCH", path, { body: { title: "Top 3", settings: { topN: 3 } }, headers: { "if-match": '"1"' } });
    expect(first).toMatchObject({ status: 200, body: { title: "Top 3", settings: { topN: 3, groupOthers: true }, version: 2 } });
    expect(first.headers.get("etag")).toBe('"2"');
    const second = await organization.admin("PATCH", path, { body: { settings: { topN: null }, dashboard: "ops" } });
    expect(second.body).toMatchObject({ settings: { topN: 8 }, dashboard: "ops", position: { x: 0, y: 4, width: 4, height: 4 }, version: 3 });
    const { items } = (await organization.admin("GET", "/audit-events?limit=2")).body;
    expect(items).toMatchObject([
      { action: "widget.updated", targetId: id, details: { changed: ["dashboard", "settings", "position"] } },
      { action: "widget.updated", targetId: id, details: { changed: ["title", "settings"] } },
    ]);
  });

  test("200 keeps version and audit trail for what changes nothing", async () => {
    const { organization, path, created } = await withWidget();
    const same = { title: "Issuers", settings: { topN: 8 }, dashboard: "main", position: created.position };
    expect((await organization.admin("PATCH", path, { body: same })).body).toEqual(created);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items.map((each: { action: string }) => each.action)).toEqual(["widget.created", "organization.created"]);
  });

  test("200 for exactly one of twenty with the same If-Match", async () => {
    const { organization, path } = await withWidget();
    const change = (index: number) => organization.admin("PATCH", path, { body: { title: `T${index}` }, headers: { "if-match": '"1"' } });
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => change(index)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array(19).fill(412)]);
  });

  test("200 for exactly one of many widgets that move to or are made at the same place at once", async () => {
    const organization = await newOrganization();
    const made = await Promise.all(Array.from({ length: 12 }, (_, index) => addWidget(organization, "agent_health", {}, { dashboard: `d${index}` })));
    const place = { dashboard: "main", position: { x: 3, y: 3, width: 4, height: 4 } };
    const answers = await Promise.all([
      ...made.map(({ id }) => organization.admin("PATCH", `${PATH}/${id}`, { body: place })),
      ...made.map(() => organization.admin("POST", PATH, { body: { kind: "agent_health", title: "x", ...place } })),
    ]);
    expect(answers.filter((each) => each.status < 300)).toHaveLength(1);
    expect((await organization.admin("GET", `${PATH}?dashboard=main`)).body.items).toHaveLength(1);
  });
});

describe("DELETE /organizations/{organizationId}/core/widgets/{widgetId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withWidget();
    expect((await organization.member("DELETE", path)).status).toBe(403);
  });

  test("404 for another organization's and for what is no id", async () => {
    const [{ path }, other] = [await withWidget(), await newOrganization()];
    expect((await other.admin("DELETE", path)).status).toBe(404);
    expect((await other.admin("DELETE", `${PATH}/x`)).status).toBe(404);
  });

  test("412 for a stale If-Match, and it stays", async () => {
    const { organization, path } = await withWidget();
    expect(await organization.admin("DELETE", path, { headers: { "if-match": '"7"' } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).status).toBe(200);
  });

  test("204 once of ten at once, 404 for the others, and its place is free again", async () => {
    const { organization, id, path, created } = await withWidget();
    const answers = await Promise.all(Array.from({ length: 10 }, () => organization.admin("DELETE", path)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([204, ...Array(9).fill(404)]);
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "widget.deleted", targetId: id, details: { title: "Issuers" } });
    expect((await addWidget(organization, "agent_health", {}, { position: created.position })).position).toEqual(created.position);
  });
});
