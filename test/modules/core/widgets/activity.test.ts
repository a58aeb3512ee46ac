import { describe, expect, test } from "bun:test";
import { connect } from "../../../support/server/connections";
import { addWidget, show } from "../../../support/server/dashboards";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

async function feedOf(organization: TestOrganization, user: Awaited<ReturnType<TestOrganization["join"]>>, settings: object = {}) {
  const { id } = await addWidget(organization, "notification_feed", settings);
  const path = `/organizations/${organization.id}/core/widgets/${id}/data`;
  return (await user.call("GET", path, { headers: organization.headers("ORG_MEMBER") })).body.data.items;
}

describe("GET /organizations/{organizationId}/core/widgets/{widgetId}/data of activity", () => {
  test("200 the newest notices of the user who asks, and of nobody else", async () => {
    const organization = await newOrganization();
    const [user, other] = [await organization.join(), await organization.join("ORG_MEMBER")];
    const add = async (title: string) => (await user.call("POST", "/users/me/notifications/examples", { body: { title } })).body.id as string;
    const [first, second, third] = [await add("first"), await add("second"), await add("third")];
    await user.call("POST", "/users/me/notifications/read", { body: { ids: [second] } });
    const items = await feedOf(organization, user);
    expect(items.map((each: { id: string }) => each.id)).toEqual([third, second, first]);
    expect(items[0]).toEqual({ id: third, kind: "certificate_expiring", title: "third", createdAt: expect.any(String), readAt: null });
    expect(items[1].readAt).toEqual(expect.any(String));
    expect((await feedOf(organization, user, { unreadOnly: true, limit: 1 })).map((each: { id: string }) => each.id)).toEqual([third]);
    expect(await feedOf(organization, user, { kinds: ["other"] })).toEqual([]);
    expect(await feedOf(organization, user, { kinds: ["certificate_expiring", "other"] })).toHaveLength(3);
    expect(await feedOf(organization, other)).toEqual([]);
    expect(await show(organization, "notification_feed")).toEqual({ items: [] });
    await user.call("POST", "/users/me/notifications/read", { body: { all: true } });
    expect(await feedOf(organization, user, { unreadOnly: true })).toEqual([]);
    for (const { readAt } of await feedOf(organization, user)) expect(readAt).toEqual(expect.any(String));
  });

  test("200 each connection with what its last test found", async () => {
    const organization = await newOrganization();
    const hook = await connect(organization, "webhook", { url: "https://hook.example" });
    const jira = await connect(organization, "jira", { baseUrl: "https://jira.example", email: "ada@certitude.example", projectKey: "x" }, { apiToken: "t" });
    const s3 = await connect(organization, "s3", { region: "eu", bucket: "b" });
    const found = (id: string, outcome: string) =>
      world.sql`update connections set tested_at = '2026-01-02T03:04:05Z', test_outcome = ${outcome}, test_message = 'Because.' where organization_id = ${organization.id} and id = ${id}`;
    await found(jira, "failed");
    await found(s3, "unsupported");
    const { items } = await show(organization, "connector_health");
    expect(items.map((each: { name: string }) => each.name)).toEqual(items.map((each: { name: string }) => each.name).toSorted());
    expect(new Map(items.map((each: { id: string; name: string }) => [each.id, { ...each, name: "" }]))).toEqual(
      new Map([
        [hook, { id: hook, connectorKey: "webhook", name: "", status: "untested", lastVerifiedAt: null, lastError: null }],
        [jira, { id: jira, connectorKey: "jira", name: "", status: "failed", lastVerifiedAt: "2026-01-02T03:04:05.000Z", lastError: "Because." }],
        [s3, { id: s3, connectorKey: "s3", name: "", status: "unsupported", lastVerifiedAt: "2026-01-02T03:04:05.000Z", lastError: null }],
      ]),
    );
    const ids = async (settings: object) => (await show(organization, "connector_health", settings)).items.map((each: { id: string }) => each.id);
    expect(await ids({ onlyFailing: true })).toEqual([jira]);
    expect(await ids({ categories: ["storage", "nothing"] })).toEqual([s3]);
    expect(await ids({ categories: ["nothing"] })).toEqual([]);
  });
});
