import { describe, expect, test } from "bun:test";
import { repeat } from "#jobs/repeat";
import { JOBS } from "#jobs/table";
import { watchExpiry } from "#modules/certificates/expiry/services/watch";
import { certificate, importInto } from "../../../support/pki/certificates";
import { addEvent, dispatch } from "../../../support/server/dispatching";
import { world } from "../../../support/server/world";
import { newWatched, watch } from "./watch";

test("an imported certificate that expires soon is one notice to the admins, with its link", async () => {
  const { organization, admin, member, noticesOf } = await newWatched();
  const [id] = await importInto(organization, certificate({ commonName: "soon.example", from: -350, days: 20.5 }).pem);
  await watch();
  await watch();
  const [notice, ...others] = await noticesOf(admin);
  expect(others).toEqual([]);
  expect(notice).toMatchObject({
    kind: "certificate_expiring",
    title: "soon.example expires in 20 days",
    organizationId: organization.id,
    data: { count: 1, items: [{ id, commonName: "soon.example", days: 30 }] },
    state: "open",
    link: `/organizations/${organization.id}/certificates/${id}`,
    readAt: null,
  });
  expect(await noticesOf(member)).toEqual([]);
});

test("the owner is notified instead of the admins; once they are no member, the admins are", async () => {
  const { organization, admin, member, noticesOf } = await newWatched();
  const [id] = await importInto(organization, certificate({ from: -300, days: 20 }).pem);
  await organization.admin("PATCH", `/certificates/${id}`, { body: { ownerId: member.id } });
  await watch();
  expect([(await noticesOf(member)).length, (await noticesOf(admin)).length]).toEqual([1, 0]);
  const { body } = await organization.admin("GET", "/members");
  const [own] = body.items.filter(({ userId }: { userId: string }) => userId === member.id);
  await organization.admin("DELETE", `/members/${own.id}`);
  await watch(7);
  expect([(await noticesOf(member)).length, (await noticesOf(admin)).length]).toEqual([1, 1]);
});

test("each threshold is one notice, though a turn is late, repeated, or the clock goes back", async () => {
  const { organization, daysOfNotices } = await newWatched();
  await importInto(organization, certificate({ from: -300, days: 65 }).pem);
  for (const day of [0, 4.9, 5.1, 5.1, 40, 60, 6, 65.1, 65.1, 0, 64.5, 70]) await watch(day); // late for 30, 14 and 3; back at 6, 0 and 64.5
  expect(await daysOfNotices()).toEqual([60, 30, 7, 0]);
});

test("a threshold is one event of however many servers that watch at once", async () => {
  const { organization, noticesOf, admin } = await newWatched();
  await importInto(organization, ...Array.from({ length: 30 }, () => certificate({ from: -300, days: 20 }).pem));
  await Promise.all([watch(), watch(), watch(), watch()]);
  const received = (await noticesOf(admin)).flatMap(({ data }: { data: { items: { id: string }[] } }) => data.items.map(({ id }) => id));
  expect(received).toHaveLength(30);
  expect(new Set(received).size).toBe(30);
});

test("many certificates that reach a threshold together are one notice, which names the first hundred", async () => {
  const { organization, noticesOf, admin } = await newWatched();
  const pems = Array.from({ length: 120 }, (_, index) => certificate({ commonName: `n${index}.example`, from: -300, days: 10 + index / 100 }).pem);
  await importInto(organization, ...pems);
  await watch();
  const [notice, ...others] = await noticesOf(admin);
  expect(others).toEqual([]);
  expect(notice.title).toBe("120 certificates expire soon, the first in 9 days");
  expect(notice.message).toStartWith("n0.example, n1.example, n2.example and 117 more.");
  expect(notice.data.count).toBe(120);
  expect(notice.data.items).toHaveLength(100);
  expect((await organization.admin("GET", notice.link.slice(`/organizations/${organization.id}`.length))).status).toBe(200);
});

describe("there is no notice of a certificate", () => {
  const soon = (commonName: string, rest = {}) => certificate({ commonName, from: -300, days: 5, ...rest });

  test("that is revoked or retired; once it is active again, it is", async () => {
    const { organization, daysOfNotices } = await newWatched();
    const [held = "", retired = ""] = await importInto(organization, soon("held.example").pem, soon("retired.example").pem);
    await organization.admin("POST", `/certificates/${held}/revoke`, { body: { reason: "certificateHold" } });
    await organization.admin("DELETE", `/certificates/${retired}`);
    await watch();
    expect(await daysOfNotices()).toEqual([undefined]);
    await organization.admin("POST", `/certificates/${held}/reinstate`);
    await watch();
    expect(await daysOfNotices()).toEqual([undefined, 7]); // the first is of the revocation
  });

  test("of whose names there is one that ends later, until that one is revoked", async () => {
    const { organization, noticesOf, admin } = await newWatched();
    const names = ["b.renewed.example", "a.renewed.example"];
    const [, renewal = ""] = await importInto(
      organization,
      soon("renewed.example", { dns: names }).pem,
      certificate({ commonName: "another.example", dns: names.toReversed(), days: 80 }).pem,
    );
    await importInto(organization, soon("renewed.example", { dns: ["b.renewed.example"] }).pem);
    await watch();
    const received = async () =>
      (await noticesOf(admin))
        .filter(({ kind }: { kind: string }) => kind === "certificate_expiring")
        .map(({ data }: { data: { count: number } }) => data.count);
    expect(await received()).toEqual([1]); // the one of fewer names
    await organization.admin("POST", `/certificates/${renewal}/revoke`, { body: { reason: "superseded" } });
    await watch();
    expect(await received()).toEqual([1, 1]);
  });
});

test("a certificate that was stored before the watch is looked at after an upgrade", async () => {
  const { organization, daysOfNotices } = await newWatched();
  await importInto(organization, certificate({ from: -300, days: 5 }).pem);
  await world.sql`delete from expiry_watch where organization_id = ${organization.id}`;
  await watch();
  expect(await daysOfNotices()).toEqual([]);
  await world.sql`insert into expiry_reviews values (${organization.id}, '00000000-0000-0000-0000-000000000000')`;
  await watch();
  expect(await daysOfNotices()).toEqual([7]);
});

test("a threshold that the release before has judged and recorded no event of is in one notice", async () => {
  const { organization, daysOfNotices } = await newWatched();
  const [id = ""] = await importInto(organization, certificate({ from: -300, days: 5 }).pem);
  await watch();
  await world.sql`delete from notification_events where organization_id = ${organization.id}`;
  await world.sql`update expiry_tellings set told_at = null where organization_id = ${organization.id} and certificate_id = ${id} and days = 7`;
  await watch();
  await watch();
  expect(await daysOfNotices()).toEqual([7, 7]);
});

test("events of expiry wait until all certificates of their organization are reviewed", async () => {
  const { organization, daysOfNotices } = await newWatched();
  await addEvent(organization.id, { kind: "certificate_expiring", facts: { commonName: "a.example", notAfter: "2030-01-15T12:00:00.000Z", days: 14 } });
  await world.sql`insert into expiry_reviews values (${organization.id}, '00000000-0000-0000-0000-000000000000')`;
  await dispatch();
  expect(await daysOfNotices()).toEqual([]);
  await watch();
  expect(await daysOfNotices()).toEqual([14]);
});

test("what comes together is one notice, where it takes several transactions and a server stops between them", async () => {
  const { organization, admin, noticesOf } = await newWatched();
  await watch();
  await importInto(organization, ...Array.from({ length: 3 }, () => certificate({ from: -300, days: 5 }).pem));
  let looks = 0;
  const signal = {
    get aborted() {
      return ++looks > 2;
    },
  } as AbortSignal; // after the first transaction
  await watchExpiry({ sql: world.sql, clock: () => new Date() }, signal, 2);
  await dispatch();
  expect(await noticesOf(admin)).toEqual([]);
  await watch();
  expect((await noticesOf(admin)).map(({ data }: { data: { count: number } }) => data.count)).toEqual([3]);
});

test("a new owner is notified within a minute, and the first one no more", async () => {
  const { organization, admin, member, noticesOf } = await newWatched();
  const [id = ""] = await importInto(organization, certificate({ from: -300, days: 20 }).pem);
  const own = (ownerId: string) => organization.admin("PATCH", `/certificates/${id}`, { body: { ownerId } });
  const other = await organization.join("ORG_MEMBER");
  await own(member.id);
  await watch();
  await own(other.id);
  await watch();
  expect([(await noticesOf(member)).length, (await noticesOf(other)).length, (await noticesOf(admin)).length]).toEqual([1, 1, 0]);
});

describe("an owner who was notified at one threshold", () => {
  const days = (notices: { data: { items: { days: number }[] } }[]) => notices.map(({ data }) => data.items[0]?.days);

  test("is notified with the role at the next one while the state is open; who is both has one notice", async () => {
    const { organization, admin, member, noticesOf } = await newWatched();
    const [id, second] = await importInto(organization, certificate({ from: -300, days: 20 }).pem, certificate({ from: -300, days: 20 }).pem);
    await organization.admin("PATCH", `/certificates/${id}`, { body: { ownerId: member.id } });
    await organization.admin("PATCH", `/certificates/${second}`, { body: { ownerId: admin.id } });
    for (const day of [0, 0, 7, 7, 14]) await watch(day);
    expect(days(await noticesOf(member))).toEqual([30, 14, 7]);
    const toAdmin = (await noticesOf(admin)).flatMap(({ data }: { data: { items: { id: string; days: number }[] } }) => data.items);
    const of = (wanted: string | undefined) => toAdmin.filter((each: { id: string }) => each.id === wanted).map((each: { days: number }) => each.days);
    expect([of(id), of(second)]).toEqual([
      [14, 7],
      [30, 14, 7],
    ]);
  });

  test("leaves the role alone where several thresholds are reached at the first look", async () => {
    const { organization, admin, member, noticesOf } = await newWatched();
    const [id] = await importInto(organization, certificate({ from: -300, days: 5 }).pem);
    await organization.admin("PATCH", `/certificates/${id}`, { body: { ownerId: member.id } });
    await watch();
    expect([days(await noticesOf(member)), await noticesOf(admin)]).toEqual([[7], []]);
  });
});

describe("an open notice is cleared", () => {
  const soon = (rest = {}) => certificate({ commonName: "noticed.example", from: -300, days: 20, ...rest }).pem;
  const received = (notices: { kind: string; state: string | null }[]) => notices.map(({ kind, state }) => [kind, state]);

  test("by a renewal, which is a notice to those who had one", async () => {
    const { organization, admin, member, noticesOf } = await newWatched();
    const [id] = await importInto(organization, soon());
    await organization.admin("PATCH", `/certificates/${id}`, { body: { ownerId: member.id } });
    await watch();
    await importInto(organization, soon({ days: 400 }));
    await watch();
    await watch();
    expect(received(await noticesOf(member))).toEqual([
      ["certificate_expiring", "cleared"],
      ["certificate_renewed", null],
    ]);
    expect((await noticesOf(member))[1]).toMatchObject({ title: "noticed.example was renewed", data: { items: [{ id }] } });
    expect(await noticesOf(admin)).toEqual([]);
    await watch(380.5);
    expect(received(await noticesOf(admin)).length).toBe(1); // of the renewal, which nobody owns
  });

  test("by revocation, which is a notice in any case", async () => {
    const { organization, admin, noticesOf } = await newWatched();
    const [id, quiet] = await importInto(organization, soon(), certificate({ commonName: "quiet.example", days: 300 }).pem);
    await watch();
    for (const each of [id, quiet]) await organization.admin("POST", `/certificates/${each}/revoke`, { body: { reason: "keyCompromise" } });
    await watch();
    expect(received(await noticesOf(admin))).toEqual([
      ["certificate_expiring", "cleared"],
      ["certificate_revoked", null],
    ]);
    expect((await noticesOf(admin))[1]).toMatchObject({ title: "2 certificates were revoked", data: { count: 2 } });
  });

  test("by retirement, silently", async () => {
    const { organization, admin, noticesOf } = await newWatched();
    const [id] = await importInto(organization, soon());
    await watch();
    await organization.admin("DELETE", `/certificates/${id}`);
    await watch();
    expect(received(await noticesOf(admin))).toEqual([["certificate_expiring", "cleared"]]);
  });

  test("by a rotation that is completed; while it runs, there is no notice until the last threshold", async () => {
    const { organization, admin, noticesOf } = await newWatched();
    const [late = "", done = "", ...successors] = await importInto(
      organization,
      certificate({ commonName: "late.example", from: -300, days: 5 }).pem,
      certificate({ commonName: "done.example", from: -300, days: 5 }).pem,
      certificate({ days: 300 }).pem,
      certificate({ days: 300 }).pem,
    );
    await watch();
    for (const [index, id] of [late, done].entries())
      await organization.admin("POST", `/certificates/${id}/successor`, { body: { certificateId: successors[index] } });
    await world.sql`update rollouts set status = 'running' where organization_id = ${organization.id}`;
    await watch(2.5); // 3 days are left
    expect(received(await noticesOf(admin))).toEqual([["certificate_expiring", "open"]]);
    await world.sql`update rollouts set status = 'completed' where organization_id = ${organization.id} and predecessor_id = ${done}`;
    await watch(2.5);
    expect((await noticesOf(admin)).at(-1)).toMatchObject({ kind: "certificate_renewed", title: "done.example was renewed" });
    await watch(4.5);
    expect((await noticesOf(admin)).at(-1)).toMatchObject({ title: "late.example expires in 11 hours", data: { items: [{ id: late, days: 1 }] } });
    await watch(5.5);
    expect((await noticesOf(admin)).at(-1)).toMatchObject({ title: "late.example has expired" });
    expect(await noticesOf(admin)).toHaveLength(4);
  });
});

test("a server that starts looks at once, and at what another one imported or decided within a minute", async () => {
  const { organization, daysOfNotices } = await newWatched();
  await importInto(organization, certificate({ from: -300, days: 5 }).pem);
  const job = JOBS.find(({ name }) => name === "watch-expiry");
  if (!job || !("run" in job)) throw new Error("There is no job that watches expiry.");
  expect(job.everyMs).toBeLessThan(60_000);
  const stop = repeat(job, (signal) => job.run(world.deps, signal));
  while ((await daysOfNotices()).length === 0) await dispatch();
  expect(await daysOfNotices()).toEqual([7]);
  await stop();
});
