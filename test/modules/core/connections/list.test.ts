import { describe, expect, test } from "bun:test";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const PATH = "/core/connections";
const add = async (organization: TestOrganization, kind: "webhook" | "step_ca") => {
  const config = { webhook: { url: "https://hook.example" }, step_ca: { caUrl: "https://ca.example", rootFingerprint: "ab", provisionerName: "p" } }[kind];
  return (await organization.admin("POST", PATH, { body: { kind, name: crypto.randomUUID(), config } })).body.id as string;
};
const ids = (page: { items: { id: string }[] }) => page.items.map((each) => each.id);

describe("GET /organizations/{organizationId}/core/connections", () => {
  test("403 with another organization in the header", async () => {
    const organization = await newOrganization();
    expect((await organization.member("GET", PATH, { headers: { "x-organization-id": crypto.randomUUID() } })).status).toBe(403);
  });

  test.each(["?limit=0", "?limit=101", "?kind=gitlab", "?cursor=x", "?cursor=WyJ4Il0"])("400 for %s", async (query) => {
    const organization = await newOrganization();
    expect((await organization.member("GET", `${PATH}${query}`)).status).toBe(400);
  });

  test("200 newest first, page by page, of this organization alone", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const added = [await add(organization, "webhook"), await add(organization, "step_ca"), await add(organization, "webhook")];
    await add(other, "webhook");
    const first = (await organization.member("GET", `${PATH}?limit=2`)).body;
    const second = (await organization.member("GET", `${PATH}?limit=2&cursor=${first.nextCursor}`)).body;
    expect([...ids(first), ...ids(second)]).toEqual(added.toReversed());
    expect(second.nextCursor).toBeNull();
    expect(ids((await organization.member("GET", `${PATH}?kind=step_ca`)).body)).toEqual([added[1] ?? ""]);
  });
});

describe("GET /organizations/{organizationId}/core/connections/{connectionId}", () => {
  test("404 for another organization's and for what is no id", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    const id = await add(other, "webhook");
    for (const path of [`${PATH}/${id}`, `${PATH}/x`, `${PATH}/${crypto.randomUUID()}`]) expect((await mine.member("GET", path)).status).toBe(404);
  });

  test("200 with its ETag", async () => {
    const organization = await newOrganization();
    const id = await add(organization, "webhook");
    const answer = await organization.member("GET", `${PATH}/${id}`);
    expect(answer).toMatchObject({ status: 200, body: { id, config: { url: "https://hook.example", method: "POST" }, secretNames: [] } });
    expect(answer.headers.get("etag")).toEqual(readTag(1));
  });
});
