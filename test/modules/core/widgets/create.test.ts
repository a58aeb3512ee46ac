import { describe, expect, test } from "bun:test";
import { addWidget } from "../../../support/server/dashboards";
import { newOrganization } from "../../../support/server/people";

const PATH = "/core/widgets";
const issuers = (rest = {}) => ({ kind: "certificates_by_issuer", title: "Issuers", ...rest });
const at = (x: number, y: number, width = 4, height = 4) => ({ position: { x, y, width, height } });

describe("POST /organizations/{organizationId}/core/widgets", () => {
  test("403 for an ORG_MEMBER, whatever the body", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", PATH, { body: { nonsense: true } })).status).toBe(403);
  });

  test.each([
    [[], "The body must be an object."],
    [{}, "body.kind is required."],
    [issuers({ kind: "clock" }), /^body\.kind must be one of expiring_certificates_timeline, /],
    [issuers({ title: undefined }), "body.title is required."],
    [issuers({ title: "" }), "body.title must be text of 1 to 200 characters, without NUL."],
    [issuers({ title: "a\0b" }), "body.title must be text of 1 to 200 characters, without NUL."],
    [issuers({ settings: [] }), "body.settings must be an object."],
    [issuers({ settings: { topN: 0 } }), "body.settings.topN must be a whole number from 1 to 50."],
    [issuers({ settings: { topN: "8" } }), "body.settings.topN must be a whole number from 1 to 50."],
    [issuers({ settings: { size: 8 } }), "body.settings.size is not a known field of certificates_by_issuer."],
    [{ kind: "control_status_trend", title: "x" }, "body.settings.frameworkKey is required for control_status_trend."],
    [{ kind: "ai_metric_time_series", title: "x", settings: { systemIds: [], metrics: ["m"] } }, "body.settings.systemIds must be a list of 1 to 100 items."],
    [issuers({ dashboard: "" }), /^body\.dashboard must be 1 to 50 letters/],
    [issuers({ dashboard: "-a" }), /^body\.dashboard must be 1 to 50 letters/],
    [issuers({ dashboard: "a/b" }), /^body\.dashboard must be 1 to 50 letters/],
    [issuers({ dashboard: "x".repeat(51) }), /^body\.dashboard must be 1 to 50 letters/],
    [issuers({ dashboard: 5 }), /^body\.dashboard must be 1 to 50 letters/],
    [issuers({ position: { x: 0, y: 0, width: 4 } }), "body.position.height is required."],
    [issuers({ position: { ...at(0, 0).position, z: 1 } }), "body.position.z is not a known field."],
    [issuers(at(-1, 0)), "body.position.x must be a whole number from 0 to 11."],
    [issuers(at(12, 0, 1)), "body.position.x must be a whole number from 0 to 11."],
    [issuers(at(0, 0, 13)), "body.position.width must be a whole number from 1 to 12."],
    [issuers(at(0, 0, 0)), "body.position.width must be a whole number from 1 to 12."],
    [issuers(at(0, 0, 4, 25)), "body.position.height must be a whole number from 1 to 24."],
    [issuers(at(0, 10_000)), "body.position.y must be a whole number from 0 to 9999."],
    [issuers(at(0, 0.5)), "body.position.y must be a whole number from 0 to 9999."],
    [issuers(at(10, 0)), "body.position must stay within the 12 columns, but x and width are 14 together."],
    [issuers({ colour: "red" }), "body.colour is not a known field."],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    const answer = await organization.admin("POST", PATH, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toEqual(typeof message === "string" ? message : expect.stringMatching(message));
    expect((await organization.member("GET", PATH)).body.items).toEqual([]);
  });

  test("400 where it overlaps another widget by one cell, which the sentence names; another dashboard is no matter", async () => {
    const organization = await newOrganization();
    await addWidget(organization, "agent_health", {}, { title: "Agents", ...at(4, 4) });
    for (const [x, y, width, height] of [
      [7, 7, 1, 1],
      [1, 1, 4, 4],
      [0, 5, 12, 1],
      [5, 0, 1, 24],
    ] as const)
      expect(await organization.admin("POST", PATH, { body: issuers(at(x, y, width, height)) })).toMatchObject({
        status: 400,
        body: { message: 'body.position overlaps the widget "Agents", which is 4 × 4 at x 4, y 4.' },
      });
    for (const [x, y, width, height] of [
      [8, 4, 4, 4],
      [0, 4, 4, 4],
      [4, 0, 4, 4],
      [4, 8, 4, 4],
    ] as const)
      expect((await organization.admin("POST", PATH, { body: issuers(at(x, y, width, height)) })).status).toBe(201);
    expect((await organization.admin("POST", PATH, { body: issuers({ dashboard: "other", ...at(4, 4) }) })).status).toBe(201);
  });

  test("400 beyond 200 widgets and below the last row", async () => {
    const organization = await newOrganization();
    await addWidget(organization, "agent_health", {}, { dashboard: "deep", position: { x: 0, y: 9_999, width: 1, height: 1 } });
    expect(await organization.admin("POST", PATH, { body: issuers({ dashboard: "deep" }) })).toMatchObject({
      status: 400,
      body: { message: "The dashboard has no room below its last widget. Send a position." },
    });
    for (let made = 0; made < 200; made += 20) await Promise.all(Array.from({ length: 20 }, () => addWidget(organization, "agent_health")));
    expect(await organization.admin("POST", PATH, { body: issuers() })).toMatchObject({
      status: 400,
      body: { message: "The dashboard has 200 widgets, which is as many as it may have." },
    });
  });

  test("201 with defaults in place, below the last widget in its kind's own size, with an ETag and where it is", async () => {
    const organization = await newOrganization();
    await addWidget(organization, "agent_health", {}, { position: { x: 8, y: 3, width: 2, height: 5 } });
    const answer = await organization.admin("POST", PATH, { body: issuers({ settings: { topN: 3 } }) });
    expect(answer).toMatchObject({
      status: 201,
      body: { organizationId: organization.id, kind: "certificates_by_issuer", title: "Issuers", dashboard: "main", version: 1 },
    });
    expect(answer.body.settings).toEqual({ topN: 3, groupOthers: true, includeExpired: false, refreshSeconds: 300 });
    expect(answer.body.position).toEqual({ x: 0, y: 8, width: 4, height: 4 });
    expect(answer.headers.get("etag")).toBe('"1"');
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}${PATH}/${answer.body.id}`);
    expect((await organization.member("GET", `${PATH}/${answer.body.id}`)).body).toEqual(answer.body);
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({
      action: "widget.created",
      targetId: answer.body.id,
      details: { kind: "certificates_by_issuer", title: "Issuers", dashboard: "main" },
    });
  });

  test("201 for exactly one of twenty at the same place at once", async () => {
    const organization = await newOrganization();
    const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => organization.admin("POST", PATH, { body: issuers(at(index % 4, 0)) })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([201, ...Array(19).fill(400)]);
  });

  test("201 for all of thirty without a position at once, one below the other", async () => {
    const organization = await newOrganization();
    const made = await Promise.all(Array.from({ length: 30 }, () => addWidget(organization, "agent_health")));
    expect(made.map((each) => each.position.y).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index * 4));
  });
});
