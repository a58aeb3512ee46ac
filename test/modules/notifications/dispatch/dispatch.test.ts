import { expect, test } from "bun:test";
import { addEvent, dispatch, endState } from "../../../support/server/dispatching";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const silent = (name: string) => ({ kind: "agent_silent" as const, facts: { name, lastSeenAt: "2030-01-15T12:00:00.000Z" }, role: null });
const expiring = (commonName: string, days = 30) => ({
  kind: "certificate_expiring" as const,
  facts: { commonName, notAfter: "2030-01-15T12:00:00.000Z", days },
});

async function newRecipients() {
  const organization = await newOrganization();
  const [admin, member] = await Promise.all([organization.join("ORG_ADMIN"), organization.join("ORG_MEMBER")]);
  const noticesOf = async (user: typeof admin) => (await user.call("GET", "/users/me/notifications/inbox?limit=100")).body.items.toReversed();
  const titlesOf = async (user: typeof admin) => (await noticesOf(user)).map(({ title }: { title: string }) => title);
  return { organization, admin, member, noticesOf, titlesOf };
}

test("a state that stands is one notice; it is cleared when it ends, and another one when it comes back", async () => {
  const { organization, admin, noticesOf, titlesOf } = await newRecipients();
  const subjectId = await addEvent(organization.id, silent("web-1"));
  await dispatch();
  await addEvent(organization.id, { ...silent("web-1"), subjectId });
  await dispatch();
  expect(await noticesOf(admin)).toMatchObject([
    { title: "The agent web-1 is silent", state: "open", link: `/organizations/${organization.id}/agents/${subjectId}` },
  ]);
  await endState(organization.id, "agent_silent", subjectId);
  await dispatch();
  expect(await noticesOf(admin)).toMatchObject([{ state: "cleared" }]);
  await addEvent(organization.id, { ...silent("web-1"), subjectId });
  await dispatch();
  expect(await titlesOf(admin)).toHaveLength(2);
  expect(await noticesOf(admin)).toMatchObject([{ state: "cleared" }, { state: "open" }]);
});

test("the end of a state that never began is not written down", async () => {
  const { organization } = await newRecipients();
  await endState(organization.id, "agent_silent", crypto.randomUUID());
  expect([...(await world.sql`select from notification_events where organization_id = ${organization.id}`)]).toEqual([]);
});

test("a state that begins and ends before it is dispatched is a notice, cleared at once", async () => {
  const { organization, admin, noticesOf } = await newRecipients();
  const subjectId = await addEvent(organization.id, silent("web-1"));
  await endState(organization.id, "agent_silent", subjectId);
  await dispatch();
  expect(await noticesOf(admin)).toMatchObject([{ title: "The agent web-1 is silent", state: "cleared" }]);
});

test("the events that come together are one notice, which is open until its last subject is cleared", async () => {
  const { organization, admin, noticesOf } = await newRecipients();
  const subjects = [await addEvent(organization.id, silent("a")), await addEvent(organization.id, silent("b"))] as const;
  await dispatch();
  expect(await noticesOf(admin)).toMatchObject([
    { title: "2 agents are silent", message: "a, b.", data: { count: 2, items: [{ id: subjects[0] }, { id: subjects[1] }] } },
  ]);
  await endState(organization.id, "agent_silent", subjects[0]);
  await dispatch();
  expect(await noticesOf(admin)).toMatchObject([{ state: "open" }]);
  await endState(organization.id, "agent_silent", subjects[1]);
  await dispatch();
  expect(await noticesOf(admin)).toMatchObject([{ state: "cleared" }]);
});

test("an event is dispatched to whom it concerns, else to the role; one who is no member (any more) leaves it to the role of the kind", async () => {
  const { organization, admin, member, titlesOf } = await newRecipients();
  await addEvent(organization.id, { ...expiring("own.example"), userId: member.id, role: null });
  await dispatch();
  await addEvent(organization.id, { ...expiring("all.example"), role: "ORG_MEMBER" });
  await dispatch();
  await addEvent(organization.id, { ...expiring("gone.example"), userId: crypto.randomUUID(), role: null });
  await dispatch();
  await addEvent(organization.id, { ...expiring("both.example"), userId: member.id, role: "ORG_ADMIN" });
  await dispatch(new Date("2030-01-15T13:00:00Z"));
  const names = async (user: typeof admin) => (await titlesOf(user)).map((title: string) => title.split(" ")[0]);
  expect(await names(member)).toEqual(["own.example", "all.example", "both.example"]);
  expect(await names(admin)).toEqual(["all.example", "gone.example", "both.example"]);
});

test("an event is dispatched once by servers that dispatch at once, however many there are", async () => {
  const { organization, admin, noticesOf } = await newRecipients();
  const facts = JSON.stringify(expiring("n.example").facts);
  await world.sql`
    insert into notification_events (organization_id, id, kind, subject_id, data)
    select ${organization.id}, new_id(), 'certificate_expiring', gen_random_uuid(), ${facts}::jsonb from generate_series(1, 4500)`;
  await Promise.all([dispatch(), dispatch(), dispatch()]);
  await dispatch();
  const counts = (await noticesOf(admin)).map(({ data }: { data: { count: number } }) => data.count);
  expect(counts).toEqual([2_000, 2_000, 500]);
});
