import { describe, expect, test } from "bun:test";
import catalog from "#modules/governance/frameworks/rules/catalog.json";
import { FRAMEWORKS } from "#modules/governance/frameworks/rules/catalogue";
import { grantPlatformAdmin } from "#modules/people/users/queries";
import { call } from "../../../support/server/call";
import { newUser } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";

const PATH = "/admin/ai-governance/catalog";

async function newStaff() {
  const user = await newUser();
  await user.call("GET", "/users/me");
  await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
  return (query = "", headers = {}) => user.call("GET", `${PATH}${query}`, { headers: { "x-user-id": user.id, ...headers } });
}

type Framework = { key: string; controls: { id: string; ref: string }[] };

describe("GET /admin/ai-governance/catalog", () => {
  test("401 without a token, with an empty body", async () => {
    expect(await call("GET", PATH)).toMatchObject({ status: 401, body: "" });
  });

  test("403 for a user who is no staff, and without x-user-id", async () => {
    const user = await newUser();
    expect((await user.call("GET", PATH, { headers: { "x-user-id": user.id } })).status).toBe(403);
    expect((await user.call("GET", `${PATH}?framework=nothing`)).status).toBe(403);
  });

  test.each(["nothing", "", "EUAIACT", "iso,nist"])("400 for the framework %j", async (framework) => {
    const get = await newStaff();
    const { status, body } = await get(`?framework=${framework}`);
    expect({ status, body }).toEqual({ status: 400, body: { message: "query.framework must be one of euaiact, nist, iso." } });
  });

  test("200 every framework with all its controls, as the catalogue has them", async () => {
    const get = await newStaff();
    const { body } = await get();
    expect(body.items.map((each: Framework) => each.key)).toEqual(FRAMEWORKS);
    const withoutIds = body.items.map((each: Framework) => ({ ...each, controls: each.controls.map(({ id: _, ...control }) => control) }));
    expect(withoutIds).toEqual(catalog);
  });

  test("200 the ids are unique, the same on every server, and never change", async () => {
    const get = await newStaff();
    const controls = (await get()).body.items.flatMap((each: Framework) => each.controls) as Framework["controls"];
    expect(new Set(controls.map((each) => each.id)).size).toBe(controls.length);
    const known = {
      "Art. 5": "5d6981cf-4bfa-5018-9237-3705593eaa2c",
      "Art. 53(1)(a)": "daea6db6-af95-52c3-b7b5-61a8b227e30c",
      "Art. 14": "d088b2f9-3090-56ec-9916-a0e1a180b866",
      "GOVERN 1.1": "f598258a-376e-5ea5-8424-adcc1d565193",
      "A.2.2": "f5cdfd26-b0bb-519f-9c3e-4430d6431974",
    };
    for (const [ref, id] of Object.entries(known)) expect({ ref, id: controls.find((each) => each.ref === ref)?.id }).toEqual({ ref, id });
  });

  test("200 the AI Act as amended: whom each control binds, what it is about, and from when", async () => {
    const get = await newStaff();
    const [act, ...others] = (await get()).body.items;
    const models = act.controls.filter(({ scope }: { scope: string }) => scope.startsWith("gpai"));
    expect(act.version).toContain("2026/1744");
    for (const each of act.controls) expect(each).toMatchObject({ roles: [expect.any(String), ...each.roles.slice(1)], scope: expect.any(String) });
    const applies = (ref: string) => act.controls.find((each: { ref: string }) => each.ref === ref).applies;
    expect(applies("Art. 14")).toEqual([
      { when: "annex_iii", from: "2027-12-02" },
      { when: "annex_i", from: "2028-08-02" },
    ]);
    expect(applies("Art. 50(2)")).toEqual([
      { when: "always", from: "2026-08-02" },
      { when: "placed_on_market_before_2026-08-02", from: "2026-12-02" },
    ]);
    expect(applies("Art. 5")).toEqual([
      { when: "always", from: "2025-02-02" },
      { when: "practice_added_by_2026/1744", from: "2026-12-02" },
    ]);
    expect(act.controls.find(({ ref }: { ref: string }) => ref === "Art. 5").summary).toContain("sexual images of people without their consent");
    expect(models).toHaveLength(10);
    for (const model of models)
      expect(model.applies).toEqual([
        { when: "always", from: "2025-08-02" },
        { when: "placed_on_market_before_2025-08-02", from: "2027-08-02" },
      ]);
    for (const { controls } of others) for (const each of controls) expect(Object.keys(each)).toEqual(["id", "ref", "title", "group", "summary"]);
  });

  test.each([...FRAMEWORKS])("200 %s alone", async (framework) => {
    const get = await newStaff();
    const { items } = (await get(`?framework=${framework}`)).body;
    expect(items).toHaveLength(1);
    expect(items[0]).toMatchObject({ key: framework });
  });

  test("304 for the tag of the same answer, on any server, and 200 for another's", async () => {
    const get = await newStaff();
    const whole = await get();
    const tag = whole.headers.get("etag") ?? "";
    expect(tag).toMatch(/^"[\w-]+"$/);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const again = await get("", { "if-none-match": known });
      expect([again.status, again.text, again.headers.get("etag")]).toEqual([304, "", tag]);
    }
    const one = await get("?framework=iso", { "if-none-match": tag });
    expect([one.status, one.headers.get("etag") === tag]).toEqual([200, false]);
    const replica = startServer(world.config, world.database);
    const user = await newUser();
    await user.call("GET", "/users/me");
    await grantPlatformAdmin(world.sql, world.deps.stamps, user.id, true);
    const there = await user.call("GET", PATH, { url: replica.url, headers: { "x-user-id": user.id } });
    expect(there.headers.get("etag")).toBe(tag);
    await replica.server.stop(true);
  });
});
