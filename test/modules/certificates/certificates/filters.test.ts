import { beforeAll, describe, expect, test } from "bun:test";
import { addAdmin } from "#modules/people/members/queries/members";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

type Note = { ownerId?: string; labels?: Record<string, string> };

let organization: TestOrganization;
let ada: Awaited<ReturnType<TestOrganization["join"]>>;
let leaver: typeof ada;
/** Ids by name, the soonest to expire first. */
const ids: Record<string, string> = {};
const shown: Record<string, { serialNumber: string; fingerprintSha256: string; issuer: string }> = {};

const root = certificate({ commonName: "Zürich, Root", isCa: true, days: 900 });

/** Each expires a day after the one before. */
async function makeThem() {
  const notes: Record<string, Note> = {
    bare: {},
    adas: { ownerId: ada.id, labels: { env: "prod", tier: "edge" } },
    leavers: { ownerId: leaver.id, labels: { env: "prod", tier: "core" } },
    plain: { labels: { env: "test" } },
    adas2: { ownerId: ada.id, labels: { env: "test", team: "pay ments" } },
    issued: { labels: { env: "prod", tier: "core", team: "risk" } },
  };
  for (const [index, [name, note]] of Object.entries(notes).entries()) {
    const { pem } = certificate({ commonName: `${name}.example`, days: 10 + index, ...(name === "issued" && { issuer: root }) });
    const [id = ""] = await importInto(organization, pem);
    ids[name] = id;
    const answer = await organization.admin("PATCH", `/certificates/${id}`, { body: { notes: name, ...note } });
    expect(answer.status).toBe(200);
    shown[name] = answer.body;
  }
}

beforeAll(async () => {
  organization = await newOrganization();
  [ada, leaver] = [await organization.join(), await organization.join("ORG_MEMBER")];
  await makeThem();
  // Another organization has the same in its own: nothing of it may show.
  const other = await newOrganization();
  const { id: ownerId } = await other.join();
  const [id] = await importInto(other, certificate({ commonName: "foreign.example", issuer: root }).pem);
  await other.admin("PATCH", `/certificates/${id}`, { body: { ownerId, labels: { env: "prod", tier: "core", team: "risk" } } });
  const { items } = (await organization.admin("GET", "/members")).body;
  const member = items.find((each: { userId: string }) => each.userId === leaver.id);
  expect((await organization.admin("DELETE", `/members/${member.id}`)).status).toBe(204);
});

const list = (query: Record<string, string>) => organization.member("GET", `/certificates?${new URLSearchParams(query)}`);
const nameOf = (id: string) => Object.entries(ids).find(([, each]) => each === id)?.[0] ?? id;
const namesOf = (items: { id: string }[]) => items.map((each) => nameOf(each.id));

async function found(query: Record<string, string>) {
  const { status, body } = await list({ ...query, limit: "100" });
  expect(status).toBe(200);
  return namesOf(body.items);
}

/** The same, two at a time. */
async function paged(query: Record<string, string>) {
  const names: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await list({ ...query, limit: "2", ...(cursor && { cursor }) });
    names.push(...namesOf(body.items));
    cursor = body.nextCursor;
  }
  return names;
}

const both = async (query: Record<string, string>) => {
  const names = await found(query);
  expect(await paged(query)).toEqual(names);
  return names;
};

describe("GET /organizations/{organizationId}/certificates", () => {
  test.each([
    ["owner", "ada"],
    ["owner", "null"],
    ["owner", " "],
    ["selector", "env="],
    ["selector", "Env=prod"],
    ["selector", "env in ("],
    ["selector", "x".repeat(2_001)],
    ["issuer", " "],
    ["issuer", "a\0b"],
    ["fingerprint", "ab"],
    ["fingerprint", "g".repeat(64)],
    ["fingerprint", "a".repeat(65)],
    ["serial", "0x1f"],
    ["serial", "-"],
    ["serial", ":"],
    ["serial", "12 34"],
    ["serial", "1".repeat(201)],
  ])("400 for %s=%s, and it names the field", async (name, value) => {
    expect(await list({ [name]: value })).toMatchObject({ status: 400, body: { message: expect.stringContaining(`query.${name} `) } });
  });

  test("200 filters by owner, also one who has left", async () => {
    expect(await both({ owner: ada.id })).toEqual(["adas", "adas2"]);
    expect(await both({ owner: ada.id.toUpperCase() })).toEqual(["adas", "adas2"]);
    expect(await both({ owner: leaver.id })).toEqual(["leavers"]);
    expect(await both({ owner: crypto.randomUUID() })).toEqual([]);
  });

  test("200 with owner=none finds those without one, and those of owners who have left", async () => {
    expect(await both({ owner: "none" })).toEqual(["bare", "leavers", "plain", "issued"]);
  });

  test("200 with owner=none no longer finds the certificates of an owner who is back", async () => {
    const its = await newOrganization();
    const owner = await its.join();
    const [id] = await importInto(its, certificate().pem);
    await its.admin("PATCH", `/certificates/${id}`, { body: { ownerId: owner.id } });
    const ownerless = async () => (await its.member("GET", "/certificates?owner=none")).body.items.map((each: { ownerId: string }) => each.ownerId);
    expect(await ownerless()).toEqual([]);
    await its.join();
    const { items } = (await its.admin("GET", "/members")).body;
    await its.admin("DELETE", `/members/${items.find((each: { userId: string }) => each.userId === owner.id).id}`);
    expect(await ownerless()).toEqual([owner.id]);
    await addAdmin(world.sql, world.deps.stamps, its.scope, { userId: owner.id, email: owner.email });
    expect(await ownerless()).toEqual([]);
  });

  test.each([
    ["env=prod", ["adas", "leavers", "issued"]],
    ["env==prod,tier=core", ["leavers", "issued"]],
    ["tier=core,env=prod", ["leavers", "issued"]],
    ["env in (prod,test,prod)", ["adas", "leavers", "plain", "adas2", "issued"]],
    ["env in (test,prod),tier!=edge", ["leavers", "plain", "adas2", "issued"]],
    ["tier", ["adas", "leavers", "issued"]],
    ["tier,team", ["issued"]],
    ["env=prod,!team", ["adas", "leavers"]],
    ["!tier", ["bare", "plain", "adas2"]],
    ["tier!=core", ["bare", "adas", "plain", "adas2"]],
    ["env notin (prod,test)", ["bare"]],
    ["env=nothing", []],
    ["env=prod,env=test", []],
    ["nothing", []],
  ])("200 filters by the labels %s", async (selector, names) => {
    expect(await both({ selector })).toEqual(names);
  });

  test("200 finds a certificate by its labels of now alone", async () => {
    const its = await newOrganization();
    const [id] = await importInto(its, certificate().pem);
    const patch = (labels: object) => its.admin("PATCH", `/certificates/${id}`, { body: { labels } });
    const finds = async (selector: string) => (await its.member("GET", `/certificates?selector=${encodeURIComponent(selector)}`)).body.items.length;
    await patch({ env: "prod", tier: "edge" });
    await patch({ env: "test", team: "risk" });
    expect([await finds("env=prod"), await finds("tier"), await finds("env"), await finds("env=test"), await finds("team=risk")]).toEqual([0, 0, 1, 1, 1]);
    await patch({});
    expect([await finds("env"), await finds("team=risk"), await finds("!env")]).toEqual([0, 0, 1]);
  });

  test("200 filters by the exact name of the issuer", async () => {
    const { issuer = "" } = shown.issued ?? {};
    expect(issuer).toContain("Zürich\\, Root");
    expect(await both({ issuer })).toEqual(["issued"]);
    expect(await both({ issuer: shown.bare?.issuer ?? "" })).toEqual(["bare"]);
    for (const other of [issuer.toLowerCase(), issuer.slice(0, -1), "CN=nothing"]) expect(await both({ issuer: other })).toEqual([]);
  });

  test("200 filters by fingerprint, in either case, with or without colons", async () => {
    const { fingerprintSha256 = "" } = shown.plain ?? {};
    const upper = fingerprintSha256.toUpperCase();
    for (const fingerprint of [fingerprintSha256, upper, upper.replace(/..(?=.)/g, "$&:")]) expect(await both({ fingerprint })).toEqual(["plain"]);
    expect(await both({ fingerprint: "0".repeat(64) })).toEqual([]);
  });

  test("200 filters by serial number, in either case; colons and leading zeros do not count", async () => {
    const { serialNumber = "" } = shown.adas ?? {};
    for (const serial of [serialNumber, serialNumber.toUpperCase(), `000${serialNumber}`, `00:${serialNumber.replace(/..(?=.)/g, "$&:")}`])
      expect(await both({ serial })).toEqual(["adas"]);
    for (const serial of [`-${serialNumber}`, `${serialNumber}0`, "0", "-0"]) expect(await both({ serial })).toEqual([]);
  });

  test("200 combines them with each other, and with status, expiry, words and the cursor", async () => {
    const { fingerprintSha256: fingerprint = "", serialNumber: serial = "", issuer = "" } = shown.issued ?? {};
    const all = { owner: "none", selector: "env=prod", issuer, fingerprint, serial, status: "active", q: "issued" };
    expect(await both(all)).toEqual(["issued"]);
    expect(await both({ ...all, owner: ada.id })).toEqual([]);
    expect(await both({ ...all, status: "revoked" })).toEqual([]);
    expect(await both({ owner: "none", selector: "env=prod" })).toEqual(["leavers", "issued"]);
    expect(await both({ owner: "none", selector: "!tier" })).toEqual(["bare", "plain"]);
    expect(await both({ owner: ada.id, selector: "env" })).toEqual(["adas", "adas2"]);
    expect(await both({ owner: "none", q: "leavers" })).toEqual(["leavers"]);
    expect(await both({ selector: "env", q: "example" })).toEqual(["adas", "leavers", "plain", "adas2", "issued"]);
    expect(await both({ selector: "tier", issuer })).toEqual(["issued"]);
    const expiresBefore = new Date(Date.now() + 12.5 * 86_400_000).toISOString();
    expect(await both({ selector: "env", expiresBefore })).toEqual(["adas", "leavers"]);
    expect(await both({ owner: "none", expiresBefore })).toEqual(["bare", "leavers"]);
    expect(await both({ selector: "env", status: "active" })).toEqual(["adas", "leavers", "plain", "adas2", "issued"]);
    expect(await both({ selector: "env", status: "expired" })).toEqual([]);
  });

  test("200 finds the same by other filters first where a label is on more certificates than are looked at one by one", async () => {
    const its = await newOrganization();
    const owner = await its.join();
    const [owned, unowned, retired] = await importInto(its, ...[5, 6, 7].map((days) => certificate({ days }).pem));
    for (const id of [owned, unowned, retired]) await its.admin("PATCH", `/certificates/${id}`, { body: { labels: { env: "prod", tier: "edge" } } });
    await its.admin("PATCH", `/certificates/${owned}`, { body: { ownerId: owner.id } });
    await its.admin("DELETE", `/certificates/${retired}`);
    const search = async (query: string) => (await its.member("GET", `/certificates?${query}`)).body.items.map((each: { id: string }) => each.id);
    const queries = {
      "selector=env%3Dprod": [owned, unowned, retired],
      "selector=env%3Dprod&limit=1": [owned],
      [`selector=env%3Dprod&owner=${owner.id}`]: [owned],
      "selector=env%3Dprod&owner=none": [unowned, retired],
      "selector=env%3Dprod&status=retired": [retired],
      "selector=env%3Dprod,tier%3Dedge&status=retired": [retired],
      "selector=env%3Dprod,tier%3Dcore&status=retired": [],
    };
    const isFound = async () => {
      for (const [query, ids] of Object.entries(queries)) expect({ query, ids: await search(query) }).toEqual({ query, ids: ids as string[] });
    };
    await isFound();
    await world.sql`insert into certificate_labels (organization_id, key, value, not_after, certificate_id)
      select ${its.id}, 'env', 'prod', now(), new_id() from generate_series(1, 10000)`; // of no certificates, which a list passes over
    await isFound();
  });

  test("200 pages through hundreds of one label, of each of several and without an owner, in one order and none twice", async () => {
    const its = await newOrganization();
    const many = await importInto(its, ...Array.from({ length: 230 }, (_, index) => certificate({ days: 20 + (index % 7) }).pem));
    await Promise.all(many.map((id, index) => its.admin("PATCH", `/certificates/${id}`, { body: { labels: { env: ["prod", "test"][index % 2] ?? "" } } })));
    for (const query of ["selector=env", "selector=env%20in%20(prod,test)", "selector=env!%3Ddev", "owner=none", ""]) {
      const seen: string[] = [];
      for (let cursor: string | null = ""; cursor !== null; ) {
        const { body } = await its.member("GET", `/certificates?limit=100&${query}${cursor && `&cursor=${cursor}`}`);
        seen.push(...body.items.map((each: { notAfter: string; id: string }) => `${each.notAfter} ${each.id}`));
        cursor = body.nextCursor;
      }
      expect(seen).toEqual(seen.toSorted());
      expect(new Set(seen).size).toBe(230);
    }
  });
});
