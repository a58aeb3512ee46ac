import { describe, expect, test } from "bun:test";
import { X509Certificate } from "node:crypto";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";

const path = "/certs/monitoring/top-expiring";

describe("GET /organizations/{organizationId}/certs/monitoring/top-expiring", () => {
  test("403 for an organization that does not exist, before the query is looked at", async () => {
    const organization = await newOrganization();
    const id = crypto.randomUUID();
    const { status } = await organization.admin("GET", `${path}?limit=x`, { headers: { "x-organization-id": id } });
    expect(status).toBe(403);
  });

  test.each(["0", "51", "-1", "x", "1.5", "", "1e1", "10 ", "0x5"])("400 for limit=%s", async (limit) => {
    const organization = await newOrganization();
    expect(await organization.member("GET", `${path}?limit=${encodeURIComponent(limit)}`)).toMatchObject({
      status: 400,
      body: { message: "query.limit must be a whole number from 1 to 50." },
    });
  });

  test("200 with nothing in an empty organization", async () => {
    const organization = await newOrganization();
    expect(await organization.member("GET", path)).toMatchObject({ status: 200, body: { items: [] } });
  });

  test("200 lists what is valid now, the soonest first, with whole days left", async () => {
    const organization = await newOrganization();
    const soon = certificate({ commonName: "soon.example", days: 5.5 });
    const [late, first] = await importInto(organization, certificate({ days: 40 }).pem, soon.pem);
    await importInto(organization, certificate({ days: -0.5, from: -9 }).pem); // expired
    await importInto(organization, certificate({ days: 3, from: 1 }).pem); // not valid yet
    const { body } = await organization.member("GET", path);
    expect(body.items).toEqual([
      {
        certificateId: first,
        commonName: "soon.example",
        expiresAt: new X509Certificate(soon.pem).validToDate.toISOString(),
        daysRemaining: 5,
      },
      { certificateId: late, commonName: expect.any(String), expiresAt: expect.any(String), daysRemaining: 39 },
    ]);
  });

  test("200 leaves out what is revoked or retired", async () => {
    const organization = await newOrganization();
    const [kept, revoked, retired] = await importInto(organization, certificate({ days: 9 }).pem, certificate({ days: 3 }).pem, certificate({ days: 4 }).pem);
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    await organization.admin("DELETE", `/certificates/${retired}`);
    const { body } = await organization.member("GET", path);
    expect(body.items.map((each: { certificateId: string }) => each.certificateId)).toEqual([kept]);
  });

  test("200 breaks ties by id, ten by default, as many as asked for", async () => {
    const organization = await newOrganization();
    const notAfter = 20;
    const ids = await importInto(organization, ...Array.from({ length: 12 }, () => certificate({ days: notAfter }).pem));
    const list = async (query = "") =>
      (await organization.member("GET", `${path}${query}`)).body.items.map((each: { certificateId: string }) => each.certificateId);
    const all = await list("?limit=50");
    expect(all.toSorted()).toEqual(ids.toSorted());
    expect(await list()).toEqual(all.slice(0, 10));
    expect(await list("?limit=1")).toEqual(all.slice(0, 1));
  });

  test("200 shows nothing of another organization", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    await importInto(other, certificate().pem);
    expect((await mine.member("GET", path)).body.items).toEqual([]);
  });
});
