import { describe, expect, test } from "bun:test";
import { createLog } from "#log/log";
import { newApiToken } from "../../../support/server/api-tokens";
import { call } from "../../../support/server/call";
import { newOrganization, newUser, type TestOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

const newEmail = () => `${crypto.randomUUID()}@people.example`;
const tokenOf = (url: string) => new URL(url).hash.slice(1);
const accept = (token: string, invitation: string) => call("POST", "/invitations/accept", { token, body: { token: invitation } });
const eventsOf = async (organization: TestOrganization) =>
  (await organization.admin("GET", "/audit-events")).body.items.map(({ action, targetId, actor }: { action: string; targetId: string; actor: object }) => ({
    action,
    targetId,
    actor,
  }));

describe("the link of an invitation", () => {
  test("201 shows it to a user token with ORG_ADMIN, and with it the invited user becomes a member", async () => {
    const organization = await newOrganization();
    const [admin, guest] = [await organization.join(), await newUser()];
    const { body, headers } = await organization.admin("POST", "/members", { token: admin.token, body: { email: guest.email } });
    expect(body.invitation).toEqual({ url: expect.stringMatching(/^http:\/\/[^/]+\/invitations\/accept#[\w-]{43}$/), expiresAt: body.invitationExpiresAt });
    expect(headers.get("cache-control")).toBe("no-store");
    expect(await accept(guest.token, tokenOf(body.invitation.url))).toMatchObject({ status: 200, body: { id: body.id, userId: guest.id, status: "active" } });
    expect((await guest.call("GET", "/users/me")).body.memberships).toMatchObject([{ organizationId: organization.id, role: "ORG_MEMBER" }]);
  });

  test("201 shows it to an API token with ORG_ADMIN, also where x-user-id names another", async () => {
    const organization = await newOrganization();
    const [admin, { token, id }] = [await organization.join(), await newApiToken(organization)];
    for (const headers of [undefined, { "x-user-id": admin.id }]) {
      const { body } = await organization.admin("POST", "/members", { token, body: { email: newEmail() }, ...(headers && { headers }) });
      expect(body.invitation.url).toContain("/invitations/accept#");
    }
    const own = { type: "api-token", id, role: "ORG_ADMIN" };
    const shown = (await eventsOf(organization)).filter((each: { action: string }) => each.action === "member.link-shown");
    expect(shown.map((each: { actor: object }) => each.actor)).toEqual([{ type: "user", id: admin.id, role: "ORG_ADMIN", via: own }, own]);
  });

  test("201 without it for organization headers alone, also where x-user-id names an ORG_ADMIN", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    for (const headers of [undefined, { "x-user-id": admin.id }]) {
      const { status, body, text } = await organization.admin("POST", "/members", { body: { email: newEmail() }, ...(headers && { headers }) });
      expect([status, body.invitation]).toEqual([201, undefined]);
      expect(text).not.toContain("#");
    }
    expect((await eventsOf(organization)).filter((each: { action: string }) => each.action === "member.link-shown")).toEqual([]);
  });

  test("201 begins with PUBLIC_URL where that is set, and no log line holds the token", async () => {
    const lines: string[] = [];
    const log = createLog("trace", { write: (line) => void lines.push(line) });
    const other = startServer({ ...world.config, publicUrl: "https://certitude.example/app" }, world.database, undefined, log);
    const organization = await newOrganization();
    const admin = await organization.join();
    const { body } = await organization.admin("POST", "/members", { token: admin.token, body: { email: newEmail() }, url: other.url });
    await other.server.stop(true);
    expect(body.invitation.url).toStartWith("https://certitude.example/app/invitations/accept#");
    expect(lines.join("")).toContain(organization.id);
    expect(lines.join("")).not.toContain(tokenOf(body.invitation.url));
  });

  test("201 again shows a new link, and the first one is good no more", async () => {
    const organization = await newOrganization();
    const [admin, guest] = [await organization.join(), await newUser()];
    const invite = async () => (await organization.admin("POST", "/members", { token: admin.token, body: { email: guest.email } })).body;
    const [first, second] = [await invite(), await invite()];
    expect(second.id).toBe(first.id);
    expect((await accept(guest.token, tokenOf(first.invitation.url))).status).toBe(404);
    expect((await accept(guest.token, tokenOf(second.invitation.url))).status).toBe(200);
  });

  test("201 leaves its own event in the audit trail: who saw the link to whom, never the token", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    const { body } = await organization.admin("POST", "/members", { token: admin.token, body: { email: newEmail() } });
    const actor = { type: "user", id: admin.id, role: "ORG_ADMIN" };
    const events = await eventsOf(organization);
    expect(events).toContainEqual({ action: "member.link-shown", targetId: body.id, actor });
    expect(events).toContainEqual({ action: "member.invited", targetId: body.id, actor });
    expect((await organization.admin("GET", "/audit-events")).text).not.toContain(tokenOf(body.invitation.url));
    expect((await organization.admin("GET", "/members")).text).not.toContain('invitation"');
  });
});
