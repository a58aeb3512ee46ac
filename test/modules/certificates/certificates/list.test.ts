import { describe, expect, test } from "bun:test";
import { certificate, importInto, inDays } from "../../../support/pki/certificates";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";

const list = async (organization: TestOrganization, query = "") => (await organization.member("GET", `/certificates${query}`)).body;
const ids = (page: { items: { id: string }[] }) => page.items.map((each) => each.id);

describe("GET /organizations/{organizationId}/certificates", () => {
  test.each([
    "?limit=0",
    "?limit=101",
    "?status=gone",
    "?expiresBefore=tomorrow",
    "?cursor=x",
    "?cursor=WyJ4Il0",
    `?cursor=${Buffer.from('["a","b"]').toString("base64url")}`,
    "?q=%20",
  ])("400 for %s", async (query) => {
    const organization = await newOrganization();
    expect((await organization.member("GET", `/certificates${query}`)).status).toBe(400);
  });

  test("200 pages through all of them, the soonest to expire first, none twice", async () => {
    const organization = await newOrganization();
    await importInto(organization, ...Array.from({ length: 7 }, (_, index) => certificate({ days: 70 - index * 9 }).pem));
    const whole = await list(organization);
    expect(whole.nextCursor).toBeNull();
    const ends = whole.items.map((each: { notAfter: string }) => each.notAfter);
    expect(ends).toEqual(ends.toSorted());
    const paged: string[] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = await list(organization, `?limit=3${cursor && `&cursor=${cursor}`}`);
      paged.push(...ids(page));
      cursor = page.nextCursor;
    }
    expect(paged).toEqual(ids(whole));
  });

  test("200 filters by status; expired is derived", async () => {
    const organization = await newOrganization();
    const [active, revoked, retired, expired] = await importInto(
      organization,
      certificate().pem,
      certificate().pem,
      certificate().pem,
      certificate({ days: -1, from: -5 }).pem,
    );
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    await organization.admin("DELETE", `/certificates/${retired}`);
    const wanted = { active, revoked, retired, expired };
    for (const [status, id] of Object.entries(wanted)) expect(ids(await list(organization, `?status=${status}`))).toEqual([id ?? ""]);
    expect((await list(organization)).items).toHaveLength(4);
  });

  test("200 filters by expiry", async () => {
    const organization = await newOrganization();
    const [soon] = await importInto(organization, certificate({ days: 5 }).pem, certificate({ days: 50 }).pem);
    expect(ids(await list(organization, `?expiresBefore=${inDays(10).toISOString()}`))).toEqual([soon ?? ""]);
  });

  test("200 finds words that begin words of the names, in this organization alone", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const pem = certificate({ commonName: "Bücher Shop", dns: ["www.shop.example", "checkout.example"] }).pem;
    const [id = ""] = await importInto(organization, pem, certificate({ commonName: "other" }).pem);
    await importInto(other, pem);
    for (const q of ["shop", "SHOP", "checko", "bücher", "www.shop.example", "shop bücher", "demo shop"])
      expect(ids(await list(organization, `?q=${encodeURIComponent(q)}`))).toEqual([id]);
    for (const q of ["hop", "shop nothing", other.id, "';--", "'", "a:*|b", "\\", "&!()"])
      expect(ids(await list(organization, `?q=${encodeURIComponent(q)}`))).not.toContain(`${id}?`);
    expect(ids(await list(organization, "?q=hop"))).toEqual([]);
  });
});

describe("GET /organizations/{organizationId}/certificates/{certificateId}", () => {
  test("404 for another organization's", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    const [id] = await importInto(other, certificate().pem);
    expect((await mine.member("GET", `/certificates/${id}`)).status).toBe(404);
    expect((await mine.member("GET", "/certificates/nonsense")).status).toBe(404);
  });

  test("200 with its PEM and ETag", async () => {
    const organization = await newOrganization();
    const { pem } = certificate();
    const [id] = await importInto(organization, pem);
    const answer = await organization.member("GET", `/certificates/${id}`);
    expect(answer).toMatchObject({ status: 200, body: { id, pem, version: 1 } });
    expect(answer.headers.get("etag")).toEqual(readTag(1));
  });
});
