import { describe, expect, test } from "bun:test";
import { newJoinToken } from "../../../support/server/hosts";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const PATH = "/join-tokens";
const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();

describe("POST /organizations/{organizationId}/join-tokens", () => {
  test("403 for an ORG_MEMBER, who lists none either", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", PATH, { body: {} })).status).toBe(403);
    expect((await organization.member("GET", PATH)).status).toBe(403);
  });

  test.each([
    [{ maxUses: 0 }, "body.maxUses must be"],
    [{ maxUses: 100_001 }, "body.maxUses must be"],
    [{ maxUses: "3" }, "body.maxUses must be"],
    [{ expiresAt: inDays(-1) }, "body.expiresAt must be in the future."],
    [{ expiresAt: inDays(400) }, "body.expiresAt must be within a year."],
    [{ expiresAt: "tomorrow" }, "body.expiresAt must be"],
    [{ labels: { Env: "x" } }, 'body.labels names the key "Env"'],
    [{ labels: { env: 5 } }, "body.labels.env must be text"],
    [{ uses: 1 }, "body.uses is not a known field."],
  ])("400 for %j", async (body, message) => {
    const answer = await (await newOrganization()).admin("POST", PATH, { body });
    expect({ status: answer.status, message: answer.body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("201 with a token that no other answer shows, good for one host and a day unless said; an audit event", async () => {
    const organization = await newOrganization();
    const { status, body, headers } = await organization.admin("POST", PATH, { body: {} });
    const { token, ...shown } = body;
    expect({ status, shown }).toEqual({
      status: 201,
      shown: {
        id: expect.any(String),
        organizationId: organization.id,
        agentId: null,
        labels: {},
        maxUses: 1,
        uses: 0,
        expiresAt: expect.any(String),
        createdBy: expect.objectContaining({ type: "gateway", role: "ORG_ADMIN" }),
        version: 1,
        createdAt: expect.any(String),
      },
    });
    expect(token).toMatch(/^caj_[\w-]{43}$/);
    expect(headers.get("cache-control")).toBe("no-store");
    const life = Date.parse(shown.expiresAt) - Date.parse(shown.createdAt);
    expect(Math.abs(life - 86_400_000)).toBeLessThan(60_000); // the two are of the server's and of the database's clock
    expect((await organization.admin("GET", headers.get("location")?.replace(/^\/organizations\/[^/]+/, "") ?? "")).body).toEqual(shown);
    const list = await organization.admin("GET", PATH);
    expect([list.body.items, list.text.includes(token)]).toEqual([[shown], false]);
    const trail = await organization.admin("GET", "/audit-events?action=join-token.created");
    expect(trail.body.items).toMatchObject([{ targetId: shown.id, details: { maxUses: 1, labels: {} } }]);
    expect(trail.text).not.toContain(token);
    const [{ hash = "" } = {}] = await world.sql<{ hash: string }[]>`select encode(token_hash, 'hex') as hash from join_tokens where id = ${shown.id}`;
    expect(hash).toBe(new Bun.CryptoHasher("sha256").update(token).digest("hex"));
  });

  test("409 while a hundred may still be used; those that are used up or have ended do not count", async () => {
    const organization = await newOrganization();
    const { id } = await newJoinToken(organization);
    await world.sql`
      insert into join_tokens (organization_id, id, labels, max_uses, token_hash, created_by, expires_at)
      select organization_id, new_id(), labels, max_uses, sha256(n::text::bytea || decode(replace(${id}::text, '-', ''), 'hex')), created_by, expires_at
      from join_tokens, generate_series(1, 98) as n where id = ${id}`;
    await newJoinToken(organization);
    expect((await organization.admin("POST", PATH, { body: {} })).status).toBe(409);
    await world.sql`update join_tokens set uses = max_uses where id = ${id}`;
    await newJoinToken(organization);
    expect((await organization.admin("POST", PATH, { body: {} })).status).toBe(409);
    await world.sql`update join_tokens set expires_at = now() where organization_id = ${organization.id}`;
    await newJoinToken(organization);
  });
});

describe("DELETE /organizations/{organizationId}/join-tokens/{joinTokenId}", () => {
  test("404 of another organization, 412 in another version, 204 with an audit event", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const { id } = await newJoinToken(organization, { labels: { env: "prod" } });
    expect((await other.admin("DELETE", `${PATH}/${id}`)).status).toBe(404);
    expect((await organization.admin("DELETE", `${PATH}/${id}`, { headers: { "if-match": '"2"' } })).status).toBe(412);
    expect((await organization.admin("DELETE", `${PATH}/${id}`)).status).toBe(204);
    expect((await organization.admin("GET", `${PATH}/${id}`)).status).toBe(404);
    const { items } = (await organization.admin("GET", "/audit-events?action=join-token.deleted")).body;
    expect(items).toMatchObject([{ targetId: id, details: { labels: { env: "prod" }, uses: 0 } }]);
  });
});
