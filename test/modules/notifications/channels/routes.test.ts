import { describe, expect, test } from "bun:test";
import { connect } from "../../../support/server/connections";
import { addEvent, dispatch } from "../../../support/server/dispatching";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const PATH = "/notification-routes";
const webhook = (organization: TestOrganization) => connect(organization, "webhook", { url: "http://127.0.0.1:9/" });
const make = (organization: TestOrganization, body: object) => organization.admin("POST", PATH, { body: { name: "x", ...body } });
const actions = async (organization: TestOrganization, targetId: string) =>
  (await organization.admin("GET", `/audit-events?targetId=${targetId}`)).body.items.map(({ action }: { action: string }) => action);

describe("a notification route", () => {
  test("POST, PATCH, DELETE /notification-routes 403 for an ORG_MEMBER, whose GET is answered", async () => {
    const organization = await newOrganization();
    const { body } = await make(organization, { target: { role: "ORG_MEMBER" } });
    expect((await organization.member("POST", PATH, { body: { name: "x", target: { role: "ORG_MEMBER" } } })).status).toBe(403);
    expect((await organization.member("PATCH", `${PATH}/${body.id}`, { body: { enabled: false } })).status).toBe(403);
    expect((await organization.member("DELETE", `${PATH}/${body.id}`)).status).toBe(403);
    expect((await organization.member("POST", `${PATH}/${body.id}/test`)).status).toBe(403);
    expect((await organization.member("GET", PATH)).body.items).toEqual([body]);
    expect((await organization.member("GET", `${PATH}/${body.id}/deliveries`)).body.items).toEqual([]);
  });

  test("POST and PATCH /notification-routes 400 names the field", async () => {
    const organization = await newOrganization();
    const other = await newOrganization();
    const member = await organization.join("ORG_MEMBER");
    const stranger = await other.join();
    const github = await connect(organization, "github", { owner: "x", authMethod: "token" }, { token: "t" });
    const refused = async (body: object) => {
      const answer = await make(organization, body);
      expect(answer.status).toBe(400);
      return answer.body.message as string;
    };
    expect(await refused({})).toContain("body.target");
    expect(await refused({ target: {} })).toContain("body.target");
    expect(await refused({ target: { role: "ORG_MEMBER", userIds: [member.id] } })).toContain("body.target");
    expect(await refused({ target: { role: "ORG_MEMBER" }, kinds: ["certificate_expiring", "nonsense"] })).toContain("body.kinds");
    expect(await refused({ target: { role: "ORG_MEMBER" }, kinds: [] })).toContain("body.kinds");
    expect(await refused({ target: { role: "ORG_MEMBER" }, severity: "fatal" })).toContain("body.severity");
    expect(await refused({ target: { role: "ORG_MEMBER" }, selector: "env in" })).toStartWith("body.selector cannot be read: ");
    expect(await refused({ target: { connectionId: crypto.randomUUID() } })).toBe("body.target.connectionId names no connection of this organization.");
    expect(await refused({ target: { connectionId: await webhook(other) } })).toBe("body.target.connectionId names no connection of this organization.");
    expect(await refused({ target: { connectionId: github } })).toBe(
      "body.target.connectionId names a connection of the kind github; notifications go to webhook, slack, microsoft_teams, pagerduty, smtp.",
    );
    expect(await refused({ target: { userIds: [member.id, stranger.id] } })).toBe("body.target.userIds[1] is no active member of this organization.");
    const { body } = await make(organization, { target: { userIds: [member.id.toUpperCase()] } });
    expect(body).toMatchObject({ target: { userIds: [member.id] }, targetMissing: false });
    const change = await organization.admin("PATCH", `${PATH}/${body.id}`, { body: { target: { connectionId: github } } });
    expect(change).toMatchObject({ status: 400, body: { message: expect.stringContaining("the kind github") } });
  });

  test("POST /notification-routes 201, then GET, PATCH and DELETE, each write with an audit event", async () => {
    const organization = await newOrganization();
    const connectionId = await webhook(organization);
    const created = await make(organization, { kinds: ["certificate_expired", "certificate_expired"], target: { connectionId }, selector: "env=prod" });
    expect(created).toMatchObject({
      status: 201,
      body: {
        name: "x",
        kinds: ["certificate_expired"],
        severity: "info",
        selector: "env=prod",
        target: { connectionId },
        targetMissing: false,
        enabled: true,
        version: 1,
      },
    });
    const { id } = created.body;
    expect(created.headers.get("location")).toBe(`/organizations/${organization.id}${PATH}/${id}`);
    expect((await organization.admin("GET", `${PATH}/${id}`)).body).toEqual(created.body);
    const second = await make(organization, { target: { role: "ORG_ADMIN" }, severity: "critical", enabled: false });
    expect((await organization.admin("GET", PATH)).body.items).toEqual([second.body, created.body]);
    const first = await organization.admin("GET", `${PATH}?limit=1`);
    expect((await organization.admin("GET", `${PATH}?limit=1&cursor=${first.body.nextCursor}`)).body).toEqual({ items: [created.body], nextCursor: null });

    const path = `${PATH}/${id}`;
    expect((await organization.admin("PATCH", path, { body: { name: "y" }, headers: { "if-match": '"7"' } })).status).toBe(412);
    expect((await organization.admin("PATCH", path, { body: { selector: "env=prod" } })).body.version).toBe(1);
    const patched = await organization.admin("PATCH", path, { body: { kinds: null, selector: null, severity: "warning" }, headers: { "if-match": '"1"' } });
    expect(patched).toMatchObject({ status: 200, body: { kinds: null, selector: null, severity: "warning", target: { connectionId }, version: 2 } });
    expect((await organization.admin("DELETE", path, { headers: { "if-match": '"1"' } })).status).toBe(412);
    expect((await organization.admin("DELETE", path)).status).toBe(204);
    expect((await organization.admin("GET", path)).status).toBe(404);
    expect(await actions(organization, id)).toEqual(["notification-route.deleted", "notification-route.updated", "notification-route.created"]);
  });

  test("GET, DELETE /notification-routes/{routeId} and what is below it 404 for another organization's, and for what is no id", async () => {
    const organization = await newOrganization();
    const { body } = await make(await newOrganization(), { target: { role: "ORG_MEMBER" } });
    for (const id of [body.id, "x"])
      for (const [method, path] of [
        ["GET", ""],
        ["DELETE", ""],
        ["POST", "/test"],
        ["GET", "/deliveries"],
        ["POST", `/deliveries/${id}/redeliver`],
      ] as const)
        expect((await organization.admin(method, `${PATH}/${id}${path}`)).status).toBe(404);
  });

  test("POST /notification-routes 400 for more than fifty, however many come at once", async () => {
    const organization = await newOrganization();
    const answers = await Promise.all(Array.from({ length: 55 }, () => make(organization, { target: { role: "ORG_MEMBER" } })));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50);
    expect(answers.find(({ status }) => status === 400)?.body.message).toStartWith("There are 50 notification routes already");
  });

  test("has its members notified beside those whom it concerns, by kind, severity and labels", async () => {
    const organization = await newOrganization();
    const [owner, member, another] = [await organization.join("ORG_MEMBER"), await organization.join("ORG_MEMBER"), await organization.join("ORG_MEMBER")];
    await make(organization, { target: { userIds: [member.id] }, kinds: ["document_failed"] });
    await make(organization, { target: { userIds: [another.id] }, severity: "critical" });
    await make(organization, { target: { role: "ORG_MEMBER" }, selector: "env=prod" });
    await addEvent(organization.id, { kind: "document_failed", facts: { title: "Handbook" }, userId: owner.id, role: null });
    await dispatch();
    const titles = async (user: typeof owner) =>
      (await user.call("GET", "/users/me/notifications/inbox")).body.items.map(({ title }: { title: string }) => title);
    expect(await titles(owner)).toEqual(["Handbook could not be indexed"]);
    expect(await titles(member)).toEqual(["Handbook could not be indexed"]);
    expect(await titles(another)).toEqual([]);
    expect(await world.sql`select from notification_deliveries where organization_id = ${organization.id}`).toHaveLength(0);
  });
});
