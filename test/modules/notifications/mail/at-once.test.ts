import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { saveUser } from "#modules/people/users/queries";
import { addEvent } from "../../../support/server/dispatching";
import { finished, headerOf, newTeam, preferMail, startNoticeMail } from "../../../support/server/notice-mail";
import { newOrganization } from "../../../support/server/people";
import { statementsDuring } from "../../../support/server/statements";
import { world } from "../../../support/server/world";

setDefaultTimeout(600_000);

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function start(behaviour: Parameters<typeof startNoticeMail>[0] = {}) {
  const mail = await startNoticeMail(behaviour);
  stops.push(mail.stop);
  await mail.server.run();
  return mail;
}

test("a mail goes out at once to who wants that of its kind, in words, with a link to what it is about", async () => {
  const { dispatch, settled, mailsTo, server } = await start();
  const { organization, admin, member, revoke } = await newTeam();
  await preferMail(member, "certificate_revoked", "off");
  const subjectId = await revoke("www.example.com");
  await dispatch();
  await settled();
  expect(mailsTo(member)).toEqual([]);
  const [mail, ...others] = mailsTo(admin);
  expect(others).toEqual([]);
  const url = `https://certitude.example/organizations/${organization.id}/certificates/${subjectId}`;
  expect(mail?.headers).toContain("Subject: www.example.com was revoked");
  expect(mail?.text).toContain(`The certificate www.example.com was revoked: keyCompromise.\n\nOpen in Certitude:\n${url}\n`);
  expect(mail?.html).toContain(`<a href="${url}"`);
  expect(mail?.html).not.toContain("<img");
  expect(await server.says("mail sent")).toMatchObject([
    { kind: "notice", organizationId: organization.id, userId: admin.id, noticeKind: "certificate_revoked" },
  ]);
});

test("no mail goes out of a kind that is daily or off by default, and one of what is notified twice at once", async () => {
  const { dispatch, settled, mailsTo } = await start();
  const { organization, admin, revoke } = await newTeam();
  await addEvent(organization.id, finished("New root"));
  await addEvent(organization.id, { kind: "member_invited", facts: { name: "Grace", role: "ORG_MEMBER" } });
  await revoke("www.example.com");
  await Promise.all([dispatch(), dispatch(), dispatch()]);
  await dispatch();
  await settled();
  expect(mailsTo(admin).map((mail) => headerOf(mail, "Subject"))).toEqual(["www.example.com was revoked"]);
});

test("a mail goes to the address that a token last said was verified, else to the one that was invited; a domain is in punycode", async () => {
  const { dispatch, settled, mailServer } = await start();
  const { admin, member, revoke } = await newTeam();
  await saveUser(world.sql, { userId: admin.id, email: "verified@xn--80ak6aa92e.example", emailVerified: true, name: null });
  await saveUser(world.sql, { userId: admin.id, email: "claimed@evil.example", emailVerified: false, name: null });
  await saveUser(world.sql, { userId: member.id, email: "claimed@evil.example", emailVerified: false, name: null });
  await revoke("www.example.com");
  await dispatch();
  await settled();
  expect(mailServer.received.map((mail) => headerOf(mail, "To")).toSorted()).toEqual([member.email, "verified@xn--80ak6aa92e.example"].toSorted());
});

test("the mails about one subject are one thread for each addressee, each with an id of its own; mails about others are not in it", async () => {
  const { dispatch, settled, mailServer } = await start();
  const { organization, revoke } = await newTeam();
  const subjectId = await revoke("www.example.com");
  await dispatch();
  await addEvent(organization.id, {
    kind: "certificate_expired",
    facts: { commonName: "www.example.com", notAfter: "2030-03-01T12:00:00.000Z", days: 0 },
    subjectId,
  });
  await dispatch();
  await revoke("other.example.com");
  await dispatch();
  await settled();
  const thread = `<${subjectId}.${organization.id}@example.org>`;
  const ours = mailServer.received.filter((mail) => /www\.example/.test(headerOf(mail, "Subject") ?? ""));
  expect(ours.map((mail) => [headerOf(mail, "References"), headerOf(mail, "In-Reply-To")])).toEqual(Array(4).fill([thread, thread]));
  expect(new Set(mailServer.received.map(({ messageId }) => messageId)).size).toBe(6);
  expect(mailServer.received.filter((mail) => headerOf(mail, "References") === thread)).toHaveLength(4);
});

test.each([
  ["www.example.com\r\nBcc: eve@evil.example\r\n\r\n<b>", "www.example.com Bcc: eve@evil.example <b>"],
  ["\u202emoc.elpmaxe\u0000", "moc.elpmaxe"],
  ["{{constructor.constructor('x')()}} %s <img src=x onerror=alert(1)>", "{{constructor.constructor('x')()}} %s <img src=x onerror=alert(1)>"],
  ["www.аррӏе.com", "www.xn--80ak6aa92e.com"],
])("a name such as %j is text in one line, and nothing else", async (commonName, shown) => {
  const { dispatch, settled, mailsTo, mailServer } = await start();
  const { admin, revoke } = await newTeam();
  // what Postgres cannot keep never came so far
  await revoke(commonName.replaceAll("\0", ""), { role: "ORG_ADMIN" });
  await dispatch();
  await settled();
  const [mail] = mailsTo(admin);
  expect(mailServer.received).toHaveLength(1);
  expect(mail?.headers).not.toMatch(/^bcc:/im);
  expect(mail?.headers.split("\r\n").filter((line) => line.startsWith("Subject:"))).toHaveLength(1);
  expect(mail?.text.replaceAll(/ +/g, " ")).toContain(`The certificate ${shown} was revoked: keyCompromise.\n`);
  expect(mail?.html).not.toMatch(/<img|<b>|аррӏе|\u202e/);
});

test("a mail lists more than a few that one user is notified of together", async () => {
  const { dispatch, settled, mailsTo } = await start();
  const { organization, admin, member } = await newTeam();
  // apart, because each concerns an owner who has left
  for (let index = 0; index < 60; index++)
    await addEvent(organization.id, {
      kind: "credential_expiring",
      facts: { credential: "API token", name: `ci-${index}`, expiresAt: "2030-01-15T12:00:00.000Z", days: index },
      userId: null,
      role: "ORG_ADMIN",
    });
  await dispatch();
  await settled();
  expect(mailsTo(member)).toEqual([]);
  const [mail, ...others] = mailsTo(admin);
  expect(others).toEqual([]);
  expect(headerOf(mail, "Subject")).toBe(`60 notices of Organization ${organization.id}`);
  expect(mail?.text.match(/^- /gm)).toHaveLength(50);
  expect(mail?.text).toContain("\nAnd 10 more.\n");
});

test("one notification of many lists the first fifty, each with its own link", async () => {
  const { dispatch, settled, mailsTo } = await start();
  const { organization, admin, revoke } = await newTeam();
  const subjects = [];
  for (let index = 0; index < 60; index++) subjects.push(await revoke(`${index}.example.com`, { role: "ORG_ADMIN" }));
  await dispatch();
  await settled();
  const [mail] = mailsTo(admin);
  expect(headerOf(mail, "Subject")).toBe("60 certificates were revoked");
  expect(mail?.text).toContain(`- 0.example.com was revoked\n  https://certitude.example/organizations/${organization.id}/certificates/${subjects[0]}\n`);
  expect(mail?.text.match(/^- /gm)).toHaveLength(50);
  expect(mail?.text).toContain("\nAnd 10 more.\n");
  expect(headerOf(mail, "References")).toBeUndefined();
});

test("each of three gets one, where the server greylists, dies in the middle of DATA and refuses one of them for good", async () => {
  const { organization, admin, member, revoke } = await newTeam();
  const third = await organization.join("ORG_MEMBER");
  const { dispatch, settled, mailsTo, server } = await start({
    recipient: (address, attempt) => (address === member.email ? 550 : attempt === 1 ? 450 : "take"),
    begun: (attempt) => (attempt === 1 ? "drop" : "take"),
  });
  await revoke("www.example.com");
  await dispatch();
  await server.says("mail given up");
  await server.hurry();
  const isSettled = settled().then(() => true);
  while (!(await Promise.race([isSettled, Bun.sleep(100)])))
    await world.sql`update pgboss.job set start_after = now() where name = 'send-mail' and state = 'retry'`;
  expect([admin, member, third].map((user) => mailsTo(user).length)).toEqual([1, 0, 1]);
  expect(await server.says("mail given up")).toMatchObject([
    { kind: "notice", userId: member.id, reason: expect.stringContaining("refuses the recipient: 550") },
  ]);
});

test("a mail that waits is withdrawn once the membership has ended, or the user wants no such mail", async () => {
  const mail = await startNoticeMail();
  stops.push(mail.stop);
  const { organization, admin, member, revoke } = await newTeam();
  const other = await organization.join("ORG_MEMBER");
  await revoke("www.example.com");
  await mail.dispatch();
  await world.sql`delete from members where organization_id = ${organization.id} and user_id = ${member.id}`;
  await preferMail(other, "certificate_revoked", "off");
  await mail.server.run();
  await mail.settled();
  expect(mail.mailServer.received.map(({ to }) => to)).toEqual([admin.email]);
  expect((await mail.server.says("mail withdrawn", 2)).map(({ userId }) => userId).toSorted()).toEqual([member.id, other.id].toSorted());
});

test("a mail to many members costs no statement for each", async () => {
  const mail = await startNoticeMail();
  stops.push(mail.stop);
  const silent = { kind: "agent_silent" as const, facts: { name: "web-1", lastSeenAt: "2030-01-15T12:00:00.000Z" } };
  async function statementsFor(members: number) {
    const organization = await newOrganization();
    const users = Array.from({ length: members }, (_, index) => ({ id: crypto.randomUUID(), email: `${index}-${organization.id}@people.example` }));
    const given = world.sql`jsonb_to_recordset(${JSON.stringify(users)}::text::jsonb) as given (id uuid, email text)`;
    await world.sql`insert into users (id, email) select id, email from ${given}`;
    await world.sql`
      insert into members (organization_id, id, user_id, email, role, status)
      select ${organization.id}, gen_random_uuid(), id, email, 'ORG_MEMBER', 'active' from ${given}`;
    await addEvent(organization.id, silent);
    const statements = await statementsDuring(() => mail.dispatch(), /json.?_to_recordset/);
    const [row] = await world.sql`select count(*)::int as count from mails where cause->>'organizationId' = ${organization.id}`;
    expect(row?.count).toBe(members);
    return statements.length;
  }
  expect([await statementsFor(2), await statementsFor(150)]).toEqual([4, 4]); // the notification, its recipients, their mails, the jobs
});
