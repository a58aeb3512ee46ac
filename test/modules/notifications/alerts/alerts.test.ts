import { describe, expect, test } from "bun:test";
import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { endSnoozes } from "#modules/notifications/dispatch/queries/snoozes";
import { certificate, importInto } from "../../../support/pki/certificates";
import { addEvent, dispatch, endState } from "../../../support/server/dispatching";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { newWatched, watch } from "../../certificates/expiry/watch";

const DAY = 86_400_000;
/** The day that begins so many days after now. */
const dayIn = (days: number) => new Date(Date.now() + days * DAY).toISOString().slice(0, 10);
const silent = (name: string) => ({ kind: "agent_silent" as const, facts: { name, lastSeenAt: "2030-01-15T12:00:00.000Z" }, role: null });

async function newAlerted() {
  const organization = await newOrganization();
  const [admin, other] = await Promise.all([organization.join("ORG_ADMIN"), organization.join("ORG_ADMIN")]);
  const subjectId = await addEvent(organization.id, silent("web-1"));
  await dispatch();
  const noticesOf = async (user: typeof admin) => (await user.call("GET", "/users/me/notifications/inbox?limit=100")).body.items.toReversed();
  const [notice] = await noticesOf(admin);
  const change = (action: string, body: object = {}, user = admin, id = notice.id) => user.call("POST", `/users/me/notifications/${id}/${action}`, { body });
  return { organization, admin, other, subjectId, notice, noticesOf, change };
}

describe("POST /users/me/notifications/{notificationId}/…", () => {
  test("401 without a token", async () => {
    const { notice } = await newAlerted();
    for (const action of ["acknowledge", "snooze", "reopen"])
      expect((await fetch(`${world.url}/users/me/notifications/${notice.id}/${action}`, { method: "POST" })).status).toBe(401);
  });

  test.each([
    ["acknowledge", { reason: "" }, "body.reason"],
    ["acknowledge", { why: "x" }, "body.why is not a known field."],
    ["snooze", {}, "body.until is required."],
    ["snooze", { until: "tomorrow" }, "body.until"],
    ["snooze", { until: "2030-02-30" }, "body.until"],
    ["snooze", { until: dayIn(0) }, "body.until must be a day in the future (UTC)."],
    ["snooze", { until: dayIn(368) }, "body.until must be at most a year from now."],
  ])("400 for %s %j", async (action, body, message) => {
    const { change } = await newAlerted();
    const answer = await change(action, body);
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining(message)]);
  });

  test("404 for a notice of another user, for none, and once the caller is no member", async () => {
    const { organization, admin, other, notice, change } = await newAlerted();
    for (const id of [crypto.randomUUID(), "x"]) expect((await change("acknowledge", {}, admin, id)).status).toBe(404);
    expect((await change("acknowledge", {}, other, notice.id)).status).toBe(404);
    const { body } = await organization.admin("GET", "/members");
    const own = body.items.find(({ userId }: { userId: string }) => userId === admin.id);
    await organization.admin("DELETE", `/members/${own.id}`);
    expect((await change("acknowledge")).status).toBe(404);
  });

  test("409 with a sentence for a notice that stands for nothing, or whose state has ended", async () => {
    const { organization, admin, subjectId, change } = await newAlerted();
    const { body: example } = await admin.call("POST", "/users/me/notifications/examples", { body: {} });
    expect(await change("acknowledge", {}, admin, example.id)).toMatchObject({ status: 409, body: { message: "This notice stands for no state." } });
    await endState(organization.id, "agent_silent", subjectId);
    await dispatch();
    expect(await change("acknowledge")).toMatchObject({ status: 409, body: { message: "What this notice is about has ended." } });
  });

  test("200 every member's notice shows the state; the trail has one event for each change", async () => {
    const { organization, admin, other, notice, noticesOf, change } = await newAlerted();
    const acknowledged = await change("acknowledge", { reason: "Maintenance" });
    expect(acknowledged).toMatchObject({ status: 200, body: { ...notice, state: "acknowledged" } });
    expect((await change("acknowledge", { reason: "Maintenance" })).status).toBe(200);
    expect(await noticesOf(other)).toMatchObject([{ state: "acknowledged" }]);
    expect((await change("snooze", { until: dayIn(3), reason: "Later" })).body.state).toBe("snoozed");
    expect((await change("reopen")).body.state).toBe("open");
    expect(await noticesOf(other)).toMatchObject([{ state: "open" }]);
    const { body: trail } = await organization.admin("GET", "/audit-events");
    const events = trail.items.filter(({ targetType }: { targetType: string }) => targetType === "notification").toReversed();
    expect(events).toMatchObject([
      {
        action: "notification.acknowledged",
        actor: { type: "user", id: admin.id },
        details: { condition: "agent silence", subjects: 1, reason: "Maintenance" },
      },
      { action: "notification.snoozed", details: { until: `${dayIn(3)}T00:00:00.000Z`, reason: "Later" } },
      { action: "notification.reopened", details: { subjects: 1 } },
    ]);
  });

  test("200 while the server dispatches the same state: neither overwrites the other", async () => {
    const { organization, subjectId, noticesOf, change, admin } = await newAlerted();
    for (let turn = 0; turn < 5; turn++) {
      await addEvent(organization.id, { ...silent("web-1"), subjectId });
      await Promise.all([dispatch(), change("acknowledge", { reason: `${turn}` }), dispatch()]);
      expect((await noticesOf(admin)).map(({ state }: { state: string }) => state)).toEqual(["acknowledged"]);
    }
  });

  test("200 a notice of 2,000 subjects at once; it is as open as the least settled of them", async () => {
    const { organization, admin, noticesOf, change } = await newAlerted();
    await world.sql`
      insert into notification_events (organization_id, id, kind, subject_id, data)
      select ${organization.id}, new_id(), 'agent_silent', gen_random_uuid(), ${JSON.stringify(silent("many").facts)}::jsonb from generate_series(1, 2000)`;
    await dispatch();
    const [, many] = await noticesOf(admin);
    expect((await change("acknowledge", {}, admin, many.id)).body).toMatchObject({ data: { count: 2_000 }, state: "acknowledged" });
    const [{ count } = { count: 0 }] = await world.sql<{ count: number }[]>`
      select count(*)::int as count from alerts where organization_id = ${organization.id} and state = 'acknowledged'`;
    expect(count).toBe(2_000);
    await addEvent(organization.id, { ...silent("one"), subjectId: many.data.items[0].id });
    await endState(organization.id, "agent_silent", many.data.items[1].id);
    await dispatch();
    expect(await noticesOf(admin)).toMatchObject([{ state: "open" }, { state: "acknowledged" }]);
  });
});

describe("a certificate that expires", () => {
  async function newExpiring(days = 20.5) {
    const { organization, admin, noticesOf } = await newWatched();
    const wish = { commonName: "a.example", from: -300 };
    await importInto(organization, certificate({ ...wish, days }).pem);
    await watch();
    const [notice] = await noticesOf(admin);
    const change = (action: string, body: object = {}) => admin.call("POST", `/users/me/notifications/${notice.id}/${action}`, { body });
    const received = async () => (await noticesOf(admin)).map(({ title, state }: { title: string; state: string | null }) => [title, state]);
    const renew = () => importInto(organization, certificate({ ...wish, days: 400 }).pem);
    const end = () => endState(organization.id, "certificate_expiring", notice.data.items[0].id);
    return { organization, change, received, renew, end };
  }

  test("is silent while it is acknowledged, at its end too; its renewal is a notice", async () => {
    const { change, received, renew } = await newExpiring();
    await change("acknowledge");
    for (const day of [7, 14, 21]) await watch(day);
    expect(await received()).toEqual([["a.example expires in 20 days", "acknowledged"]]);
    await renew();
    await watch(21);
    expect(await received()).toEqual([
      ["a.example expires in 20 days", "cleared"],
      ["a.example was renewed", null],
    ]);
  });

  test("that is reopened is a notice at the next threshold", async () => {
    const { change, received } = await newExpiring();
    await change("acknowledge");
    await watch(7);
    await change("reopen");
    await watch(7);
    await watch(14);
    expect((await received()).map(([title]: string[]) => title)).toEqual(["a.example expires in 20 days", "a.example expires in 6 days"]);
  });

  test("is silent while it is snoozed, and dispatched once more at the end of the snooze, as it is then", async () => {
    const { change, received } = await newExpiring();
    await change("snooze", { until: dayIn(10) });
    await watch(7);
    await watch(9);
    expect(await received()).toEqual([["a.example expires in 20 days", "snoozed"]]);
    await watch(10);
    await watch(10);
    expect(await received()).toEqual([
      ["a.example expires in 20 days", "open"],
      [expect.stringMatching(/^a\.example expires in 1[01] days$/), "open"],
    ]);
    await watch(14);
    expect(await received()).toHaveLength(3);
  });

  test("is one notice where a threshold is reached together with the end of a snooze", async () => {
    const { change, received } = await newExpiring();
    await change("snooze", { until: dayIn(10) });
    await watch(15);
    await watch(15);
    expect(await received()).toHaveLength(2);
  });

  test("ends a snooze when it has expired", async () => {
    const { change, received } = await newExpiring();
    await change("snooze", { until: dayIn(30) });
    await watch(18);
    await watch(21);
    expect(await received()).toEqual([
      ["a.example expires in 20 days", "open"],
      ["a.example has expired", "open"],
    ]);
    await watch(31);
    expect(await received()).toHaveLength(2);
  });

  test("is no notice after a snooze that outlasts its renewal", async () => {
    const { change, received, renew } = await newExpiring();
    await change("snooze", { until: dayIn(10) });
    await renew();
    await watch(9);
    await watch(11);
    expect((await received()).map(([title]: string[]) => title)).toEqual(["a.example expires in 20 days", "a.example was renewed"]);
  });

  test("is no notice where a server ends snoozes after another one has seen the renewal, and before that is dispatched", async () => {
    const { organization, change, received, renew } = await newExpiring();
    await change("snooze", { until: dayIn(10) });
    await renew();
    const at = new Date(Date.now() + 11 * DAY);
    await watchExpiry({ sql: world.sql, clock: () => at }, new AbortController().signal);
    await world.sql.begin((tx) => endSnoozes(tx, organization.id, 2_000, at));
    await dispatch(at);
    expect((await received()).map(([title]: string[]) => title)).toEqual(["a.example expires in 20 days", "a.example was renewed"]);
  });

  test("is no notice at the end of a snooze where it was retired, and that is still to be dispatched", async () => {
    const { organization, change, received, end } = await newExpiring();
    await watch(21);
    await change("snooze", { until: dayIn(30) });
    await end();
    const at = new Date(Date.now() + 31 * DAY);
    await world.sql.begin((tx) => endSnoozes(tx, organization.id, 2_000, at));
    await dispatch(at);
    expect(await received()).toEqual([
      ["a.example expires in 20 days", "cleared"],
      ["a.example has expired", "cleared"],
    ]);
  });
});

test("a snooze that servers end at once is one notice, of a state that is one notice too", async () => {
  const { noticesOf, change, admin } = await newAlerted();
  await change("snooze", { until: dayIn(2) });
  const then = new Date(Date.now() + 2 * DAY);
  await Promise.all([dispatch(then), dispatch(then), dispatch(then)]);
  await dispatch(then);
  expect(await noticesOf(admin)).toMatchObject([{ state: "open" }, { title: "The agent web-1 is silent", state: "open" }]);
});

test("the snoozes and states of the same notices are ended by servers at once that are not in each other's way", async () => {
  const { organization, admin, noticesOf, change } = await newAlerted();
  const names = Array.from({ length: 60 }, () => crypto.randomUUID());
  const fall = (subjects: string[]) => Promise.all(subjects.map((subjectId) => addEvent(organization.id, { ...silent("web-2"), subjectId })));
  const rise = (subjects: string[]) => Promise.all(subjects.map((subjectId) => endState(organization.id, "agent_silent", subjectId)));
  const then = new Date(Date.now() + 2 * DAY);
  for (const subjects of [names, names.toReversed()]) {
    await fall(subjects);
    await dispatch();
    await rise(subjects);
    await dispatch();
  }
  await fall(names.slice(30));
  await dispatch();
  const [latest] = (await noticesOf(admin)).slice(-1);
  await change("snooze", { until: dayIn(2) }, admin, latest.id);
  await fall(names.slice(0, 30));
  await dispatch();
  await rise(names.slice(0, 30));
  await Promise.all([dispatch(then), dispatch(then), dispatch(then), dispatch(then)]);
  await dispatch(then);
  const states = (await noticesOf(admin)).map(({ state }: { state: string }) => state);
  expect(states).toEqual(["open", "cleared", "cleared", "open", "cleared", "open"]);
});
