import { describe, expect, test } from "bun:test";
import { addWidget } from "../../../support/server/dashboards";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const PATH = "/core/widgets";
const ids = (page: { items: { id: string }[] }) => page.items.map((each) => each.id);

describe("GET /organizations/{organizationId}/core/widgets", () => {
  test("403 without organization headers", async () => {
    const organization = await newOrganization();
    expect((await organization.member("GET", PATH, { headers: { "x-organization-role": "" } })).status).toBe(403);
  });

  test.each([
    "?limit=0",
    "?limit=101",
    "?dashboard=%20",
    "?dashboard=a%2Fb",
    "?cursor=x",
    `?cursor=${Buffer.from('["main","x","0","0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"]').toString("base64url")}`,
    `?cursor=${Buffer.from('["\\u0000","0","0","0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01"]').toString("base64url")}`,
  ])("400 for %s", async (query) => {
    const organization = await newOrganization();
    expect((await organization.member("GET", `${PATH}${query}`)).status).toBe(400);
  });

  test("200 by dashboard, then from the top and the left, page by page, of this organization alone", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const long = `${"Ünïcode".repeat(7)}z`;
    const add = async (dashboard: string, x: number, y: number) =>
      (await addWidget(organization, "agent_health", {}, { dashboard, position: { x, y, width: 1, height: 1 } })).id as string;
    const added = [await add("main", 5, 2), await add("main", 0, 7), await add("main", 0, 2), await add(long, 0, 0), await add(long, 1, 0)];
    await addWidget(other, "agent_health");
    const main = [added[2] ?? "", added[0] ?? "", added[1] ?? ""];
    expect(ids((await organization.member("GET", `${PATH}?dashboard=main`)).body)).toEqual(main);
    const paged: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page: { items: { id: string }[]; nextCursor: string | null } = (await organization.member("GET", `${PATH}?limit=1${cursor && `&cursor=${cursor}`}`))
        .body;
      paged.push(...ids(page));
      cursor = page.nextCursor;
    }
    expect(paged).toEqual([...main, added[3] ?? "", added[4] ?? ""]);
    expect(ids((await organization.member("GET", `${PATH}?dashboard=${encodeURIComponent(long)}`)).body)).toEqual(paged.slice(3));
  });
});

describe("GET /organizations/{organizationId}/core/widgets/{widgetId} and its data", () => {
  test("404 for another organization's and for what is no id", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    const { id } = await addWidget(other, "agent_health");
    for (const path of [`${PATH}/${id}`, `${PATH}/x`, `${PATH}/${crypto.randomUUID()}`]) {
      expect((await mine.member("GET", path)).status).toBe(404);
      expect((await mine.member("GET", `${path}/data`)).status).toBe(404);
    }
  });

  test("200 with its ETag", async () => {
    const organization = await newOrganization();
    const made = await addWidget(organization, "agent_health");
    const answer = await organization.member("GET", `${PATH}/${made.id}`);
    expect(answer).toMatchObject({ status: 200, body: made });
    expect(answer.headers.get("etag")).toEqual(readTag(1));
  });
});
