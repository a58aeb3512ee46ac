import { describe, expect, test } from "bun:test";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { auditOf, change, control } from "./controls";

const { path } = control("iso", 3);
const evidence = [{ title: "Policy", url: "http://wiki.certitude.example/policy?x=1#part" }];
const changesOf = async (organization: Parameters<typeof auditOf>[0]) =>
  (await auditOf(organization)).filter((each: { action: string }) => each.action === "control.changed");

describe("PATCH …/controls/{controlId}, step by step", () => {
  test("200 what is not named stays, and what is stored supports a status", async () => {
    const organization = await newOrganization();
    await change(organization, path, { status: "in_progress", note: "Begun.", dueDate: "2031-01-01" });
    expect((await change(organization, path, { status: "not_applicable" })).body).toMatchObject({
      status: "not_applicable",
      note: "Begun.",
      dueDate: "2031-01-01",
    });
    expect((await change(organization, path, { status: "in_progress", note: null, evidence })).body).toMatchObject({ note: null, evidence });
    expect((await change(organization, path, { status: "implemented" })).body).toMatchObject({ status: "implemented", evidence, version: 4 });
    expect((await change(organization, path, { status: "implemented", evidence: [] })).status).toBe(400);
    const cleared = await change(organization, path, { status: "not_started", evidence: [], dueDate: null });
    expect(cleared.body).toMatchObject({ status: "not_started", note: null, evidence: [], ownerId: null, dueDate: null, version: 5 });
  });

  test("200 a change that changes nothing keeps the version and leaves no trace", async () => {
    const organization = await newOrganization();
    const untouched = await change(organization, path, { status: "not_started" });
    expect(untouched).toMatchObject({ status: 200, body: { version: 0, updatedAt: null } });
    expect(untouched.headers.get("etag")).toBe('"0"');
    const body = { status: "implemented", note: "Done.", evidence };
    const first = await change(organization, path, body);
    const second = await change(organization, path, body);
    expect([second.body, second.headers.get("etag")]).toEqual([first.body, '"1"']);
    expect(await changesOf(organization)).toHaveLength(1);
  });

  test("200 an owner who has left stays named until it is changed", async () => {
    const organization = await newOrganization();
    const owner = await organization.join();
    await change(organization, path, { status: "in_progress", ownerId: owner.id });
    await world.sql`delete from members where organization_id = ${organization.id} and user_id = ${owner.id}`;
    expect((await change(organization, path, { status: "implemented", note: "Done." })).body.ownerId).toBe(owner.id);
    expect((await change(organization, path, { status: "implemented", ownerId: owner.id })).status).toBe(400);
    expect((await change(organization, path, { status: "implemented", ownerId: null })).body.ownerId).toBeNull();
  });

  test("200 for exactly one of thirty with the same If-Match, 412 for the others", async () => {
    const organization = await newOrganization();
    const race = Array.from({ length: 30 }, (_, index) => change(organization, path, { status: "in_progress", note: `${index}` }, { "if-match": '"0"' }));
    const statuses = (await Promise.all(race)).map((each) => each.status);
    expect(statuses.toSorted()).toEqual([200, ...Array(29).fill(412)]);
    expect(await changesOf(organization)).toHaveLength(1);
  });

  test("200 thirty at once without If-Match follow one another, each in the history once", async () => {
    const organization = await newOrganization();
    const race = Array.from({ length: 30 }, (_, index) => change(organization, path, { status: "in_progress", note: `${index}` }));
    const answers = await Promise.all(race);
    expect(answers.map((each) => each.body.version).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
    const { history, note } = (await organization.admin("GET", `${path}?limit=100`)).body;
    expect(history.items.map((each: { version: number }) => each.version)).toEqual(Array.from({ length: 30 }, (_, index) => 30 - index));
    expect(history.items[0].note).toBe(note);
    expect(new Set(history.items.map((each: { note: string }) => each.note)).size).toBe(30);
    expect(await changesOf(organization)).toHaveLength(30);
  });

  test("200 the same control of another organization is another", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    await change(organization, path, { status: "in_progress", note: "Ours." });
    expect((await other.admin("GET", path)).body).toMatchObject({ status: "not_started", note: null, version: 0, history: { items: [] } });
  });
});
