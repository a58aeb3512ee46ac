import { describe, expect, test } from "bun:test";
import catalog from "#modules/governance/frameworks/rules/catalog.json";
import { summarize } from "#modules/governance/frameworks/rules/controls";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";
import { change, control } from "./controls";
import releasedRefs from "./released-refs.json";

const FRAMEWORKS = "/ai-governance/frameworks";

/** Every control that a release has had; a status of any of them may be in a database. A later catalogue adds its own here. */
const released = Object.entries(releasedRefs).flatMap(([framework, refs]) =>
  refs.map((ref) => ({ framework, ref, id: Bun.randomUUIDv5(`${framework} ${ref}`, "de91e746-1c19-4d62-ae50-aec2c4c7e92f") })),
);

describe("GET /organizations/{organizationId}/ai-governance/frameworks", () => {
  test("403 without organization headers, 401 for a token that proves nothing", async () => {
    const organization = await newOrganization();
    expect((await call("GET", `/organizations/${organization.id}${FRAMEWORKS}`)).status).toBe(403);
    expect(await organization.member("GET", FRAMEWORKS, { token: "x" })).toMatchObject({ status: 401, body: "" });
  });

  test("200 each framework with how far the organization has come, and no other organization's work", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    for (const index of [0, 1, 2]) await change(organization, control("iso", index).path, { status: "implemented", note: "Done." });
    await change(organization, control("iso", 3).path, { status: "not_applicable", note: "We build none." });
    await change(organization, control("iso", 4).path, { status: "in_progress" });
    await change(organization, control("nist", 0).path, { status: "in_progress" });
    await change(organization, control("nist", 0).path, { status: "not_started" });
    const { items } = (await organization.member("GET", FRAMEWORKS)).body;
    const details = catalog.map(({ controls: _, ...framework }) => framework);
    expect(items).toMatchObject(details);
    expect(items[2].progress).toEqual({ total: 38, counts: { not_started: 33, in_progress: 1, implemented: 3, not_applicable: 1 }, percent: 8 });
    expect(items[1].progress).toEqual({ total: 72, counts: { not_started: 72, in_progress: 0, implemented: 0, not_applicable: 0 }, percent: 0 });
    expect((await other.member("GET", FRAMEWORKS)).body.items[2].progress.counts.not_started).toBe(38);
  });

  test("200 every status that an earlier release stored is still there, counted and with its history", async () => {
    const organization = await newOrganization();
    await world.sql`
      with stored as (
        insert into controls (organization_id, control_id, framework, status, note)
        select ${organization.id}, id, framework, 'implemented', ref from jsonb_to_recordset(${JSON.stringify(released)}::jsonb) as control (id uuid, framework text, ref text)
        returning *)
      insert into control_changes (organization_id, control_id, version, status, note, evidence, actor)
      select organization_id, control_id, version, status, note, evidence, '{"type":"gateway","role":"ORG_ADMIN"}' from stored`;
    for (const { key, progress } of (await organization.member("GET", FRAMEWORKS)).body.items) {
      const own = released.filter((each) => each.framework === key);
      expect({ key, ...progress }).toMatchObject({ key, total: own.length, counts: { implemented: own.length }, percent: 100 });
      const { items } = (await organization.member("GET", `${FRAMEWORKS}/${key}/controls`)).body;
      expect(items.map(({ id, note }: { id: string; note: string }) => ({ framework: key, ref: note, id }))).toEqual(own);
      const { history } = (await organization.member("GET", `${FRAMEWORKS}/${key}/controls/${own[0]?.id}`)).body;
      expect(history.items).toMatchObject([{ note: own[0]?.ref, status: "implemented" }]);
    }
  });

  test("200 a status that was stored before an amendment of its article stays, beside the amendment's date", async () => {
    const organization = await newOrganization();
    const amended = [
      { id: "5d6981cf-4bfa-5018-9237-3705593eaa2c", from: "2026-12-02" },
      { id: "daea6db6-af95-52c3-b7b5-61a8b227e30c", from: "2027-08-02" },
    ];
    for (const { id } of amended)
      await world.sql`insert into controls (organization_id, control_id, framework, status, note) values (${organization.id}, ${id}, 'euaiact', 'implemented', 'Done.')`;
    for (const { id, from } of amended) {
      const { body } = await organization.member("GET", `${FRAMEWORKS}/euaiact/controls/${id}`);
      expect(body).toMatchObject({ id, status: "implemented", note: "Done.", version: 1, applies: [{ when: "always" }, { from }] });
    }
  });

  test("100 percent only when every applicable control is implemented", () => {
    const many = Array(199).fill("implemented");
    expect(summarize([...many, "in_progress"]).percent).toBe(99);
    expect(summarize([...many, "not_applicable"]).percent).toBe(100);
    expect(summarize(["not_applicable"]).percent).toBe(100);
  });
});

describe("GET /organizations/{organizationId}/ai-governance/frameworks/{frameworkKey}/controls", () => {
  test("400 for an unknown framework", async () => {
    const organization = await newOrganization();
    const { status, body } = await organization.member("GET", `${FRAMEWORKS}/gdpr/controls`);
    expect({ status, body }).toEqual({ status: 400, body: { message: "params.frameworkKey must be one of euaiact, nist, iso." } });
  });

  test("200 all of them in the framework's order, not_started unless touched", async () => {
    const organization = await newOrganization();
    const { path, id } = control("nist", 1);
    const { body: changed } = await change(organization, path, { status: "in_progress", note: "Begun." });
    const { items } = (await organization.member("GET", `${FRAMEWORKS}/nist/controls`)).body;
    expect(items).toMatchObject(catalog.find((each) => each.key === "nist")?.controls ?? []);
    expect(items[1]).toEqual(changed);
    const others = items.filter((each: { id: string }) => each.id !== id);
    const untouched = { status: "not_started", note: null, evidence: [], ownerId: null, dueDate: null, version: 0, updatedAt: null, framework: "nist" };
    expect(others).toHaveLength(71);
    for (const each of others) expect(each).toMatchObject(untouched);
  });
});

describe("GET /organizations/{organizationId}/ai-governance/frameworks/{frameworkKey}/controls/{controlId}", () => {
  const { path, id } = control("euaiact", 7);

  test("400 for a page that cannot be", async () => {
    const organization = await newOrganization();
    for (const query of ["?limit=0", "?limit=101", "?limit=x", "?cursor=x", `?cursor=${Buffer.from('["x"]').toString("base64url")}`])
      expect((await organization.member("GET", `${path}${query}`)).status).toBe(400);
    expect((await organization.member("GET", `${FRAMEWORKS}/iso/controls/x`)).status).toBe(400);
  });

  test("404 for an unknown control, and for one of another framework", async () => {
    const organization = await newOrganization();
    for (const nowhere of [path.replace(id, crypto.randomUUID()), path.replace("euaiact", "iso")])
      expect((await organization.member("GET", nowhere)).status).toBe(404);
  });

  test("200 untouched: not_started, with an ETag that a first change may name", async () => {
    const organization = await newOrganization();
    const { status, body, headers } = await organization.member("GET", path);
    expect({ status, body }).toMatchObject({ status: 200, body: { id, status: "not_started", version: 0, history: { items: [], nextCursor: null } } });
    expect((await change(organization, path, { status: "in_progress" }, { "if-match": headers.get("etag") ?? "" })).status).toBe(200);
  });

  test("200 pages through the history, the latest first", async () => {
    const organization = await newOrganization();
    for (const note of ["1", "2", "3", "4", "5"]) await change(organization, path, { status: "in_progress", note });
    const notes: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const { history }: { history: { items: { note: string }[]; nextCursor: string | null } } = (
        await organization.member("GET", `${path}?limit=2${cursor && `&cursor=${cursor}`}`)
      ).body;
      notes.push(...history.items.map((each) => each.note));
      cursor = history.nextCursor;
    }
    expect(notes).toEqual(["5", "4", "3", "2", "1"]);
  });
});
