import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { saveUser } from "#modules/people/users/queries";
import { call } from "../../../support/server/call";
import { startMailServer } from "../../../support/server/mail-server";
import { startMailing } from "../../../support/server/mailing";
import { newOrganization, newUser, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

setDefaultTimeout(300_000);

let mailServer: Awaited<ReturnType<typeof startMailServer>>;
let server: Awaited<ReturnType<typeof startMailing>>;
beforeAll(async () => {
  mailServer = await startMailServer();
  server = await startMailing(mailServer.url);
  await server.run();
});
afterAll(async () => {
  await server.stop();
  await mailServer.stop();
});

const LINK = /https:\/\/certitude\.example\/invitations\/accept#([\w-]{43})/g;
const newEmail = () => `${crypto.randomUUID()}@people.example`;
const invite = (organization: TestOrganization, body: object, wish = {}) => organization.admin("POST", "/members", { body, url: server.url, ...wish });
const accept = (token: string, invitation: string | undefined) => call("POST", "/invitations/accept", { token, body: { token: invitation }, url: server.url });
const mailsTo = async (address: string, count = 1) => {
  for (;;) {
    const mails = mailServer.received.filter(({ to }) => to === address);
    if (mails.length >= count) return mails;
    await Bun.sleep(10);
  }
};
const tokenIn = (text = "") => [...text.matchAll(LINK)].map(([, token]) => token);

describe("an invitation by mail", () => {
  test("201 without the link, which the mail holds once in each part; with it the invited user becomes a member", async () => {
    const organization = await newOrganization();
    const [admin, guest] = [await organization.join(), await newUser()];
    const { status, body, text } = await invite(organization, { email: guest.email, firstName: "Grace", lastName: "Hopper" }, { token: admin.token });
    expect([status, body.invitation, body.invitationMail]).toEqual([201, undefined, "pending"]);
    expect(text).not.toContain("#");
    const [mail] = await mailsTo(guest.email);
    const [token, ...others] = tokenIn(mail?.text);
    expect([others, tokenIn(mail?.html)]).toEqual([[], [token]]);
    expect(await accept(guest.token, token)).toMatchObject({ status: 200, body: { status: "active", invitationMail: null } });
    const shown = (await organization.admin("GET", "/audit-events?action=member.link-shown")).body.items;
    expect(shown).toEqual([]);
  });

  test("names the organization, who invites, the role and when it expires", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    await world.sql`update users set full_name = 'Ada Lovelace' where id = ${admin.id}`;
    const { body } = await invite(organization, { email: newEmail(), firstName: "Grace", role: "ORG_ADMIN" }, { token: admin.token });
    const [mail] = await mailsTo(body.email);
    const until = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeStyle: "short", timeZone: "UTC" }).format(new Date(body.invitationExpiresAt));
    for (const part of [mail?.text, mail?.html]) {
      expect(part).toContain("Hello Grace,");
      expect(part).toContain(`Ada Lovelace (${admin.email}) invites you to join Organization ${organization.id} in Certitude as an administrator.`);
      expect(part).toContain(`The link is for ${body.email} alone and works once, until ${until} UTC.`);
    }
    expect(mail?.headers).toContain("Subject: Invitation to Certitude");
    expect(mail?.headers).toContain(`To: ${body.email}`);
    expect(mail?.headers).not.toMatch(/list-unsubscribe/i);
  });

  test("names no inviter where no user invites, and goes out for a gateway's headers alone too", async () => {
    const organization = await newOrganization();
    const { body } = await invite(organization, { email: newEmail() });
    const [mail] = await mailsTo(body.email);
    expect(mail?.text).toStartWith(`Hello,\r\n\r\nYou are invited to join Organization ${organization.id} in Certitude as a member.`);
  });

  test("keeps markup, templates, line ends and look-alike domains of others harmless", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    await saveUser(world.sql, { userId: admin.id, email: "ada@аррӏе.com", name: null });
    await world.sql`update users set full_name = ${'<b>Ada</b> "{{x}}"\r\nBcc: eve@example.org'} where id = ${admin.id}`;
    await world.sql`update organizations set name = ${"Evil\r\nBcc: eve@example.org\r\n\r\n<h1>"} where id = ${organization.id}`;
    const { body } = await invite(
      organization,
      { email: newEmail(), firstName: 'Zoë "Z" <i>', lastName: "x\r\nBcc: eve@example.org" },
      { headers: { "x-user-id": admin.id } },
    );
    const [mail] = await mailsTo(body.email);
    expect(mail?.headers).not.toMatch(/^bcc:/im);
    expect(mail?.html).not.toMatch(/<h1>|<b>|<i>/);
    expect(mail?.html).toContain("&lt;b&gt;Ada&lt;/b&gt; &quot;{{x}}&quot;");
    expect(mail?.text).toContain("(ada@xn--80ak6aa92e.com)");
    expect(mailServer.received.filter(({ to }) => to === "eve@example.org")).toEqual([]);
  });

  test("carries no words of others in its headers, short names in its text, and nothing that a mail reader makes a link of", async () => {
    const organization = await newOrganization();
    const admin = await organization.join();
    const lure = "Your invoice: https://evil.example/pay or www.evil.example/x, mail eve@evil.example";
    await world.sql`update users set full_name = ${lure} where id = ${admin.id}`;
    await world.sql`update organizations set name = ${lure.padEnd(200, "!")} where id = ${organization.id}`;
    const { body } = await invite(organization, { email: newEmail(), firstName: lure, lastName: lure }, { token: admin.token });
    const [mail] = await mailsTo(body.email);
    expect(mail?.headers).not.toMatch(/evil|invoice/i);
    for (const part of [mail?.text, mail?.html]) {
      expect(part).toContain("Your invoice");
      expect(part).not.toMatch(/evil\.example|www\.\S|https:\/\/evil|eve@evil|!{80}/);
    }
  });

  test("429 for a sixth one to an address within a day, also where it is removed in between; another address and another organization are served", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const email = newEmail();
    for (let count = 0; count < 5; count++) {
      const { status, body } = await invite(organization, { email: count % 2 ? email : email.toUpperCase() });
      expect(status).toBe(201);
      if (count % 2) await organization.admin("DELETE", `/members/${body.id}`, { url: server.url });
    }
    const { status, body, headers } = await invite(organization, { email });
    expect({ status, body }).toEqual({
      status: 429,
      body: { message: "This address was sent 5 invitations within a day, which is the most. Try again tomorrow." },
    });
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await invite(organization, { email: newEmail() })).status).toBe(201);
    expect((await invite(other, { email })).status).toBe(201);
    const [events] = await world.sql`
      select count(*)::int as count from audit_events where organization_id = ${organization.id} and action = 'member.invited' and details->>'email' = ${email}`;
    expect(events?.count).toBe(5);
  });

  test("429 beyond 500 of an organization within a day, and 201 again on the day after", async () => {
    const organization = await newOrganization();
    await world.sql`
      insert into audit_events (organization_id, id, actor, action, target_type, target_id, details)
      select ${organization.id}, new_id(), '{"type":"gateway"}', 'member.invited', 'member', n::text, jsonb_build_object('email', n || '@people.example') from generate_series(1, 500) as n`;
    const refused = await invite(organization, { email: newEmail() });
    expect([refused.status, refused.body.message]).toEqual([
      429,
      "This organization sent 500 invitations within a day, which is the most. Try again tomorrow.",
    ]);
    await world.sql`update audit_events set at = at - interval '25 hours' where organization_id = ${organization.id} and target_id = '1'`;
    expect((await invite(organization, { email: newEmail() })).status).toBe(201);
  });

  test("is sent again when it is renewed, and the earlier link is good no more", async () => {
    const organization = await newOrganization();
    const guest = await newUser();
    const first = (await invite(organization, { email: guest.email })).body;
    await mailsTo(guest.email);
    expect((await invite(organization, { email: guest.email })).body.id).toBe(first.id);
    const mails = await mailsTo(guest.email, 2);
    expect(mails[0]?.messageId).not.toBe(mails[1]?.messageId);
    expect((await accept(guest.token, tokenIn(mails[0]?.text)[0])).status).toBe(404);
    expect((await accept(guest.token, tokenIn(mails[1]?.text)[0])).status).toBe(200);
  });

  test("keeps the token out of the log, the audit trail and every row in the clear", async () => {
    const organization = await newOrganization();
    const waiting = await startMailing(mailServer.url); // its jobs do not run, but those of the other server do
    const { body } = await organization.admin("POST", "/members", { body: { email: newEmail() }, url: waiting.url });
    const [mail] = await mailsTo(body.email);
    await waiting.stop();
    const [token = ""] = tokenIn(mail?.text);
    expect(token).toHaveLength(43);
    expect([...server.lines, ...waiting.lines].join("")).not.toContain(token);
    const [row] = await world.sql`select count(*)::int as count from pgboss.job where job::text like ${`%${token}%`}`;
    expect(row?.count).toBe(0);
    expect((await organization.admin("GET", "/audit-events")).text).not.toContain(token);
  });

  test("lies sealed until it is sent, and does not go out once it is renewed, or its member removed", async () => {
    const organization = await newOrganization();
    const away = await startMailServer();
    await away.stop();
    const waiting = await startMailing(away.url);
    await server.deps.queue.stop();
    const invited = async (email: string) => (await organization.admin("POST", "/members", { body: { email }, url: waiting.url })).body;
    const ofOrganization = () => world.sql`select id, mails::text as row from mails where cause->>'organizationId' = ${organization.id} order by id`;
    const [renewed, removed] = [await invited(newEmail()), await invited(newEmail())];
    const before = await ofOrganization();
    expect(before).toHaveLength(2);
    expect(before.map(({ row }) => row).join()).not.toContain("people.example");
    await invited(renewed.email);
    await organization.admin("DELETE", `/members/${removed.id}`);
    const after = await ofOrganization();
    expect(after).toHaveLength(1);
    expect(before.map(({ id }) => id)).not.toContain(after[0]?.id);
    await waiting.stop();
    await server.stop();
    server = await startMailing(mailServer.url);
    await server.run();
    expect(await mailsTo(renewed.email)).toHaveLength(1);
    while ((await ofOrganization()).length > 0) await Bun.sleep(20);
    expect(mailServer.received.filter(({ to }) => to === removed.email)).toEqual([]);
  });

  test("is neither sent nor queued where the invitation is refused", async () => {
    const organization = await newOrganization({ seatLimit: 1 });
    const { email } = await organization.join();
    const refused = newEmail();
    expect((await invite(organization, { email: refused })).status).toBe(403);
    expect((await invite(organization, { email })).status).toBe(400);
    expect([...(await world.sql`select from mails where cause->>'organizationId' = ${organization.id}`)]).toEqual([]);
  });
});
