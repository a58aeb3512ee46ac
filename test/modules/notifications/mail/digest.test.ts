import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { addEvent } from "../../../support/server/dispatching";
import { finished, headerOf, newTeam, prefer, preferMail, startNoticeMail } from "../../../support/server/notice-mail";
import { world } from "../../../support/server/world";

setDefaultTimeout(600_000);

const stops: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

const EVENING = new Date("2030-03-30T20:00:00Z");
const at = (time: string) => new Date(`2030-03-${time}Z`);

async function start(behaviour: Parameters<typeof startNoticeMail>[0] = {}) {
  const mail = await startNoticeMail(behaviour);
  stops.push(mail.stop);
  await mail.server.run();
  const team = await newTeam();
  const finish = (name: string, organizationId = team.organization.id) => addEvent(organizationId, finished(name));
  /** One turn of the job at this time, and what came of it. */
  async function digestAt(time: string) {
    await mail.digest(at(time));
    await mail.settled();
    return mail.mailsTo(team.admin);
  }
  return { ...mail, ...team, finish, digestAt };
}

test("a digest has what is daily in one mail at the user's hour, once, and none comes where nothing waits", async () => {
  const { organization, finish, dispatch, digest, digestAt, admin } = await start();
  await prefer(admin, { timeZone: "Europe/Berlin", digestHour: 7 });
  const subjectId = await finish("www.example.com");
  await dispatch(EVENING);
  await finish("mail.example.com");
  await dispatch(EVENING);
  expect(await digestAt("31T04:59:59.999")).toEqual([]);
  await Promise.all([digest(at("31T05:00:00")), digest(at("31T05:00:00")), digest(at("31T09:00:00"))]);
  const [mail, ...others] = await digestAt("31T09:00:00");
  expect(others).toEqual([]);
  expect(headerOf(mail, "Subject")).toBe("Daily digest: 2 notices");
  const url = `https://certitude.example/organizations/${organization.id}/rollouts/${subjectId}`;
  expect(mail?.text).toContain(`Organization ${organization.id}: rollout finished:\n- The rollout mail.example.com has finished\n`);
  expect(mail?.text).toContain(`- The rollout www.example.com has finished\n  ${url}\n`);
  expect(mail?.html).toContain(`<a href="${url}"`);
  expect(await digestAt("31T23:00:00")).toHaveLength(1);
  expect([...(await world.sql`select from digest_notices`), ...(await world.sql`select from digests`)]).toEqual([]);
});

test("a late turn sends once, and the next digest comes at the next hour", async () => {
  const { finish, dispatch, digestAt } = await start();
  await finish("one.example");
  await dispatch(at("01T20:00:00"));
  expect(await digestAt("05T15:00:00")).toHaveLength(1);
  await finish("two.example");
  await dispatch(at("05T15:00:01"));
  expect(await digestAt("06T07:59:59")).toHaveLength(1);
  expect(await digestAt("06T08:00:00")).toHaveLength(2);
});

test("a digest leaves out what was read meanwhile, is of an organization the user has left, or of a kind that is off now", async () => {
  const { organization, admin, finish, dispatch, digestAt } = await start();
  const other = await newTeam();
  await world.sql`update members set user_id = ${admin.id} where organization_id = ${other.organization.id} and user_id = ${other.admin.id}`;
  await finish("read.example");
  await finish("left.example", other.organization.id);
  await addEvent(organization.id, { kind: "member_joined", facts: { name: "Off", role: "ORG_MEMBER" }, role: "ORG_ADMIN" });
  await dispatch(EVENING);
  const { items } = (await admin.call("GET", "/users/me/notifications/inbox")).body;
  const read = items.find(({ title }: { title: string }) => title.includes(" read.example"));
  await admin.call("POST", "/users/me/notifications/read", { body: { ids: [read.id] } });
  await finish("unread.example");
  await dispatch(EVENING);
  await preferMail(admin, "member_joined", "off");
  await world.sql`delete from members where organization_id = ${other.organization.id} and user_id = ${admin.id}`;
  const [mail] = await digestAt("31T08:00:00");
  expect(headerOf(mail, "Subject")).toBe("Daily digest: 1 notice");
  expect(mail?.text).toContain("The rollout unread.example has finished");
  expect(mail?.text).not.toMatch(/ read\.example|left\.example|Off/);
});

test("no mail where all of it was read", async () => {
  const { admin, finish, dispatch, digestAt } = await start();
  await finish("www.example.com");
  await dispatch(EVENING);
  await admin.call("POST", "/users/me/notifications/read", { body: { all: true } });
  expect(await digestAt("31T08:00:00")).toEqual([]);
  expect([...(await world.sql`select from digest_notices`)]).toEqual([]);
});

test("one mail for all organizations, by organization and kind; of more than fifty it lists fifty, what is critical first", async () => {
  const { organization, admin, finish, dispatch, digestAt } = await start();
  const other = await newTeam();
  await world.sql`update members set user_id = ${admin.id} where organization_id = ${other.organization.id} and user_id = ${other.admin.id}`;
  await preferMail(admin, "assignment_failed", "daily");
  await addEvent(other.organization.id, {
    kind: "assignment_failed",
    facts: { agentId: crypto.randomUUID(), agentName: "web-1", commonName: "Root", reason: null },
    role: "ORG_ADMIN",
  });
  await dispatch(EVENING);
  for (let index = 0; index < 59; index++) {
    await finish(`${index}.example`);
    await dispatch(EVENING);
  }
  const [mail, ...others] = await digestAt("31T08:00:00");
  expect(others).toEqual([]);
  expect(headerOf(mail, "Subject")).toBe("Daily digest: 60 notices");
  expect(mail?.text.match(/^- /gm)).toHaveLength(50);
  expect(mail?.text).toContain("And 10 more.");
  const headings = [...(mail?.text.matchAll(/^Organization .+:$/gm) ?? [])].map(([heading]) => heading);
  expect(headings).toEqual([`Organization ${other.organization.id}: assignment failed:`, `Organization ${organization.id}: rollout finished:`]);
});

test("the next digest has what one could not list, because its mail was given up", async () => {
  const { server, admin, finish, dispatch, digest, digestAt, settled, mailsTo } = await start({ recipient: (_, attempt) => (attempt === 1 ? 550 : "take") });
  await finish("first.example");
  await dispatch(EVENING);
  await digest(at("31T08:00:00"));
  await server.says("mail given up");
  await settled();
  expect(mailsTo(admin)).toEqual([]);
  const [row] = await world.sql<{ dueAt: string }[]>`select iso(due_at) as "dueAt" from digests where user_id = ${admin.id}`;
  expect(Date.parse(row?.dueAt ?? "")).toBeGreaterThan(Date.now()); // by the server's own clock, at the next hour
  await finish("second.example");
  await dispatch(at("31T09:00:00"));
  const [mail, ...others] = await digestAt("31T23:59:00");
  expect(others).toEqual([]);
  expect(mail?.text).toContain("The rollout first.example has finished");
  expect(mail?.text).toContain("The rollout second.example has finished");
  expect([...(await world.sql`select from digest_notices`)]).toEqual([]);
});

test("a digest that waits is made once more, without the notices of an organization that the user has left meanwhile", async () => {
  const mail = await startNoticeMail();
  stops.push(mail.stop);
  const [team, other] = [await newTeam(), await newTeam()];
  await world.sql`update members set user_id = ${team.admin.id} where organization_id = ${other.organization.id} and user_id = ${other.admin.id}`;
  for (const { organization } of [team, other]) await addEvent(organization.id, finished(`${organization.id}.example`));
  await mail.dispatch(EVENING);
  await mail.digest(at("31T08:00:00"));
  await other.organization.join("ORG_ADMIN");
  const [own] = await world.sql`select id from members where organization_id = ${other.organization.id} and user_id = ${team.admin.id}`;
  expect((await other.organization.admin("DELETE", `/members/${own?.id}`)).status).toBe(204);
  await mail.server.run();
  await mail.settled();
  expect(mail.mailServer.received).toEqual([]);
  await mail.digest(at("31T08:00:20"));
  await mail.settled();
  expect(
    mail.mailsTo(team.admin).map(({ text }) => [text.includes(`${team.organization.id}.example`), text.includes(`${other.organization.id}.example`)]),
  ).toEqual([[true, false]]);
});

test("a change of the hour or the time zone moves the digest that waits", async () => {
  const { admin, finish, dispatch, digestAt } = await start();
  await finish("www.example.com");
  await dispatch(EVENING);
  await prefer(admin, { timeZone: "Asia/Kolkata", digestHour: 9 });
  const [row] = await world.sql<{ dueAt: string }[]>`select iso(due_at) as "dueAt" from digests where user_id = ${admin.id}`;
  expect(row?.dueAt).toMatch(/T03:30:00\.000Z$/);
  expect(await digestAt("31T08:00:00")).toHaveLength(1);
});

test("a digest is mailed once to each of many users, whatever number of servers mails them", async () => {
  const { organization, finish, dispatch, digest, settled, mailServer } = await start();
  const users = Array.from({ length: 90 }, (_, index) => ({ id: crypto.randomUUID(), email: `${index}-${organization.id}@people.example` }));
  const given = world.sql`jsonb_to_recordset(${JSON.stringify(users)}::text::jsonb) as given (id uuid, email text)`;
  await world.sql`insert into users (id, email) select id, email from ${given}`;
  await world.sql`
    insert into members (organization_id, id, user_id, email, role, status)
    select ${organization.id}, gen_random_uuid(), id, email, 'ORG_ADMIN', 'active' from ${given}`;
  await finish("www.example.com");
  await dispatch(EVENING);
  await Promise.all([1, 2, 3].map(() => digest(at("31T08:00:00"))));
  await digest(at("31T08:00:20"));
  await settled();
  expect(mailServer.received).toHaveLength(91);
  expect(new Set(mailServer.received.map(({ to }) => to)).size).toBe(91);
});
