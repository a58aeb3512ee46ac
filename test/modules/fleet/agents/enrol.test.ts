import { describe, expect, test } from "bun:test";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const enrol = (organization: TestOrganization, body: object) => organization.admin("POST", "/agents", { body });
const labelsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "v"]));

describe("POST /organizations/{organizationId}/agents", () => {
  test("403 for an ORG_MEMBER", async () => {
    expect((await (await newOrganization()).member("POST", "/agents", { body: { name: "a" } })).status).toBe(403);
  });

  test.each([
    [{}, "body.name is required."],
    [{ name: "" }, "body.name must be text of 1 to 120 characters, without NUL."],
    [{ name: "x".repeat(121) }, "body.name must be text of 1 to 120 characters, without NUL."],
    [{ name: 5 }, "body.name must be text of 1 to 120 characters, without NUL."],
    [{ name: "a", token: "x" }, "body.token is not a known field."],
    [{ name: "a", labels: [] }, "body.labels must be an object."],
    [{ name: "a", labels: { env: 5 } }, "body.labels.env must be text of 1 to 63 characters, without NUL."],
    [{ name: "a", labels: { env: "" } }, "body.labels.env must be text of 1 to 63 characters, without NUL."],
    [{ name: "a", labels: { env: "x".repeat(64) } }, "body.labels.env must be text of 1 to 63 characters, without NUL."],
    [{ name: "a", labels: { Env: "x" } }, 'body.labels names the key "Env", but a key is 1 to 63 lower-case letters, digits and hyphens'],
    [{ name: "a", labels: { "": "x" } }, 'body.labels names the key "", but'],
    [{ name: "a", labels: { "a\nb": "x" } }, 'body.labels names the key "a\\nb", but'],
    [{ name: "a", labels: { ["k".repeat(64)]: "x" } }, "body.labels names the key"],
    [{ name: "a", labels: labelsOf(65) }, "body.labels names 65 labels, but there may be at most 64."],
  ])("400 for %j", async (body, message) => {
    const answer = await enrol(await newOrganization(), body);
    expect({ status: answer.status, message: answer.body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("400 for a key that JavaScript would swallow", async () => {
    const organization = await newOrganization();
    const answer = await organization.admin("POST", "/agents", {
      raw: '{"name":"a","labels":{"__proto__":"x"}}',
      headers: { "content-type": "application/json" },
    });
    expect(answer.status).toBe(400);
  });

  test("201 with a token that no other answer shows, and an audit event", async () => {
    const organization = await newOrganization();
    const labels = { env: "prod", ...labelsOf(63) };
    const answer = await enrol(organization, { name: " web-01 ", labels });
    const { token, ...agent } = answer.body;
    expect({ status: answer.status, agent }).toEqual({
      status: 201,
      agent: {
        id: expect.any(String),
        organizationId: organization.id,
        name: "web-01",
        labels,
        host: null,
        lastSeenAt: null,
        access: "long-lived",
        accessEndsAt: null,
        credentialMisusedAt: null,
        heldSince: null,
        version: 1,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    expect(token).toMatch(/^cag_[\w-]{43}$/);
    expect(["etag", "location", "cache-control"].map((name) => answer.headers.get(name))).toEqual([
      '"1"',
      `/organizations/${organization.id}/agents/${agent.id}`,
      "no-store",
    ]);
    expect((await organization.member("GET", `/agents/${agent.id}`)).body).toEqual(agent);
    const [{ hash = "" } = {}] = await world.sql<{ hash: string }[]>`select encode(token_hash, 'hex') as hash from agents where id = ${agent.id}`;
    expect(hash).toBe(new Bun.CryptoHasher("sha256").update(token).digest("hex"));
    const trail = await organization.admin("GET", "/audit-events");
    expect(trail.body.items[0]).toMatchObject({ action: "agent.created", targetId: agent.id, details: { name: "web-01" } });
    expect(trail.text).not.toContain(token);
  });
});
