import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { world } from "../../../support/server/world";
import { newWatched, watch } from "./watch";

test("an imported certificate that expires soon is told of once, to the admins, with its link", async () => {
  const { organization, admin, member, toldTo } = await newWatched();
  const [id] = await importInto(organization, certificate({ commonName: "soon.example", from: -350, days: 20.5 }).pem);
  await watch();
  await watch();
  const [notice, ...others] = await toldTo(admin);
  expect(others).toEqual([]);
  expect(notice).toMatchObject({
    kind: "certificate_expiring",
    title: "soon.example expires in 20 days",
    organizationId: organization.id,
    data: { days: 30, count: 1, certificates: [{ id, commonName: "soon.example" }] },
    link: `/organizations/${organization.id}/certificates/${id}`,
    readAt: null,
  });
  expect(await toldTo(member)).toEqual([]);
});

test("the owner is told instead of the admins; once they are no member, the admins are", async () => {
  const { organization, admin, member, toldTo } = await newWatched();
  const [id] = await importInto(organization, certificate({ from: -300, days: 20 }).pem);
  await organization.admin("PATCH", `/certificates/${id}`, { body: { ownerId: member.id } });
  await watch();
  expect([(await toldTo(member)).length, (await toldTo(admin)).length]).toEqual([1, 0]);
  const { body } = await organization.admin("GET", "/members");
  const [own] = body.items.filter(({ userId }: { userId: string }) => userId === member.id);
  await organization.admin("DELETE", `/members/${own.id}`);
  await watch(7);
  expect([(await toldTo(member)).length, (await toldTo(admin)).length]).toEqual([1, 1]);
});

test("each threshold is told once, though a look is late, repeated, or the clock goes back", async () => {
  const { organization, daysTold } = await newWatched();
  await importInto(organization, certificate({ from: -300, days: 65 }).pem);
  for (const day of [0, 4.9, 5.1, 5.1, 40, 60, 6, 65.1, 65.1, 0, 64.5, 70]) await watch(day); // late for 30, 14 and 3; back at 6, 0 and 64.5
  expect(await daysTold()).toEqual([60, 30, 7, 0]);
});

test("servers that look at once tell once", async () => {
  const { organization, toldTo, admin } = await newWatched();
  await importInto(organization, ...Array.from({ length: 30 }, () => certificate({ from: -300, days: 20 }).pem));
  await Promise.all([watch(), watch(), watch(), watch()]);
  const told = (await toldTo(admin)).flatMap(({ data }: { data: { certificates: { id: string }[] } }) => data.certificates.map(({ id }) => id));
  expect(told).toHaveLength(30);
  expect(new Set(told).size).toBe(30);
});

test("many certificates that reach a threshold together are one notice, which names the first hundred", async () => {
  const { organization, toldTo, admin } = await newWatched();
  const pems = Array.from({ length: 120 }, (_, index) => certificate({ commonName: `n${index}.example`, from: -300, days: 10 + index / 100 }).pem);
  await importInto(organization, ...pems);
  await watch();
  const [notice, ...others] = await toldTo(admin);
  expect(others).toEqual([]);
  expect(notice.title).toBe("120 certificates expire soon, the first in 9 days");
  expect(notice.message).toStartWith("n0.example, n1.example, n2.example and 117 more.");
  expect(notice.data).toMatchObject({ days: 14, count: 120 });
  expect(notice.data.certificates).toHaveLength(100);
  expect((await organization.admin("GET", notice.link.slice(`/organizations/${organization.id}`.length))).status).toBe(200);
});

describe("nothing is told of a certificate", () => {
  const soon = (commonName: string, rest = {}) => certificate({ commonName, from: -300, days: 5, ...rest });

  test("that is revoked or retired; once it is active again, it is", async () => {
    const { organization, daysTold } = await newWatched();
    const [held = "", retired = ""] = await importInto(organization, soon("held.example").pem, soon("retired.example").pem);
    await organization.admin("POST", `/certificates/${held}/revoke`, { body: { reason: "certificateHold" } });
    await organization.admin("DELETE", `/certificates/${retired}`);
    await watch();
    expect(await daysTold()).toEqual([]);
    await organization.admin("POST", `/certificates/${held}/reinstate`);
    await watch();
    expect(await daysTold()).toEqual([7]);
  });

  test("of whose names there is one that ends later, until that one is revoked", async () => {
    const { organization, toldTo, admin } = await newWatched();
    const names = ["b.renewed.example", "a.renewed.example"];
    const [, renewal = ""] = await importInto(
      organization,
      soon("renewed.example", { dns: names }).pem,
      certificate({ commonName: "another.example", dns: names.toReversed(), days: 80 }).pem,
    );
    await importInto(organization, soon("renewed.example", { dns: ["b.renewed.example"] }).pem);
    await watch();
    const told = async () => (await toldTo(admin)).map(({ data }: { data: { certificates: { commonName: string }[] } }) => data.certificates.length);
    expect(await told()).toEqual([1]); // the one of fewer names
    await organization.admin("POST", `/certificates/${renewal}/revoke`, { body: { reason: "superseded" } });
    await watch();
    expect(await told()).toEqual([1, 1]);
  });
});

test("what was stored before the watch is looked at after an upgrade", async () => {
  const { organization, daysTold } = await newWatched();
  await importInto(organization, certificate({ from: -300, days: 5 }).pem);
  await world.sql`delete from expiry_watch where organization_id = ${organization.id}`;
  await watch();
  expect(await daysTold()).toEqual([]);
  await world.sql`insert into expiry_reviews values (${organization.id}, '00000000-0000-0000-0000-000000000000')`;
  await watch();
  expect(await daysTold()).toEqual([7]);
});
