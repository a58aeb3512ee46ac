import { expect, test } from "bun:test";
import { newOrganization } from "../../../support/server/people";
import { addEvent, endState, tell } from "../../../support/server/telling";
import { world } from "../../../support/server/world";

const silent = (name: string) => ({ kind: "agent_silent" as const, facts: { name, lastSeenAt: "2030-01-15T12:00:00.000Z" }, role: null });
const expiring = (commonName: string, days = 30) => ({
  kind: "certificate_expiring" as const,
  facts: { commonName, notAfter: "2030-01-15T12:00:00.000Z", days },
});

async function newTold() {
  const organization = await newOrganization();
  const [admin, member] = await Promise.all([organization.join("ORG_ADMIN"), organization.join("ORG_MEMBER")]);
  const toldTo = async (user: typeof admin) => (await user.call("GET", "/users/me/notifications/inbox?limit=100")).body.items.toReversed();
  const titlesOf = async (user: typeof admin) => (await toldTo(user)).map(({ title }: { title: string }) => title);
  return { organization, admin, member, toldTo, titlesOf };
}

test("a state that stands is told once; it is cleared when it ends, and told once more when it comes back", async () => {
  const { organization, admin, toldTo, titlesOf } = await newTold();
  const subjectId = await addEvent(organization.id, silent("web-1"));
  await tell();
  await addEvent(organization.id, { ...silent("web-1"), subjectId });
  await tell();
  expect(await toldTo(admin)).toMatchObject([
    { title: "The agent web-1 is silent", state: "open", link: `/organizations/${organization.id}/agents/${subjectId}` },
  ]);
  await endState(organization.id, "agent_silent", subjectId);
  await tell();
  expect(await toldTo(admin)).toMatchObject([{ state: "cleared" }]);
  await addEvent(organization.id, { ...silent("web-1"), subjectId });
  await tell();
  expect(await titlesOf(admin)).toHaveLength(2);
  expect(await toldTo(admin)).toMatchObject([{ state: "cleared" }, { state: "open" }]);
});

test("the end of a state that never began is not written down", async () => {
  const { organization } = await newTold();
  await endState(organization.id, "agent_silent", crypto.randomUUID());
  expect([...(await world.sql`select from notification_events where organization_id = ${organization.id}`)]).toEqual([]);
});

test("what begins and ends before it is told is told, and cleared at once", async () => {
  const { organization, admin, toldTo } = await newTold();
  const subjectId = await addEvent(organization.id, silent("web-1"));
  await endState(organization.id, "agent_silent", subjectId);
  await tell();
  expect(await toldTo(admin)).toMatchObject([{ title: "The agent web-1 is silent", state: "cleared" }]);
});

test("what comes together is one notice, which is open until its last subject is cleared", async () => {
  const { organization, admin, toldTo } = await newTold();
  const subjects = [await addEvent(organization.id, silent("a")), await addEvent(organization.id, silent("b"))] as const;
  await tell();
  expect(await toldTo(admin)).toMatchObject([
    { title: "2 agents are silent", message: "a, b.", data: { count: 2, items: [{ id: subjects[0] }, { id: subjects[1] }] } },
  ]);
  await endState(organization.id, "agent_silent", subjects[0]);
  await tell();
  expect(await toldTo(admin)).toMatchObject([{ state: "open" }]);
  await endState(organization.id, "agent_silent", subjects[1]);
  await tell();
  expect(await toldTo(admin)).toMatchObject([{ state: "cleared" }]);
});

test("whom it concerns is told, else the role; one who is no member (any more) leaves it to the role of the kind", async () => {
  const { organization, admin, member, titlesOf } = await newTold();
  await addEvent(organization.id, { ...expiring("own.example"), userId: member.id, role: null });
  await tell();
  await addEvent(organization.id, { ...expiring("all.example"), role: "ORG_MEMBER" });
  await tell();
  await addEvent(organization.id, { ...expiring("gone.example"), userId: crypto.randomUUID(), role: null });
  await tell();
  await addEvent(organization.id, { ...expiring("both.example"), userId: member.id, role: "ORG_ADMIN" });
  await tell(new Date("2030-01-15T13:00:00Z"));
  const names = async (user: typeof admin) => (await titlesOf(user)).map((title: string) => title.split(" ")[0]);
  expect(await names(member)).toEqual(["own.example", "all.example", "both.example"]);
  expect(await names(admin)).toEqual(["all.example", "gone.example", "both.example"]);
});

test("servers that tell at once tell once, however many events there are", async () => {
  const { organization, admin, toldTo } = await newTold();
  const facts = JSON.stringify(expiring("n.example").facts);
  await world.sql`
    insert into notification_events (organization_id, id, kind, subject_id, data)
    select ${organization.id}, new_id(), 'certificate_expiring', gen_random_uuid(), ${facts}::jsonb from generate_series(1, 4500)`;
  await Promise.all([tell(), tell(), tell()]);
  await tell();
  const counts = (await toldTo(admin)).map(({ data }: { data: { count: number } }) => data.count);
  expect(counts).toEqual([2_000, 2_000, 500]);
});
