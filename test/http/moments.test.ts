import { expect, test } from "bun:test";
import { certificate, importInto } from "../support/pki/certificates";
import { newOrganization } from "../support/server/people";

test("GET {org}/certificates: 200 expiresBefore to the microsecond, with any offset, in the years 1 to 9999", async () => {
  const organization = await newOrganization();
  const minted = certificate({ days: 5 });
  const [id = ""] = await importInto(organization, minted.pem);
  const { notAfter } = (await organization.member("GET", `/certificates/${id}`)).body as { notAfter: string };
  const second = notAfter.slice(0, 19);
  const found = async (moment: string) => (await organization.member("GET", `/certificates?expiresBefore=${encodeURIComponent(moment)}`)).body.items?.length;
  const moments = [`${second}Z`, `${second}.0000009Z`, `${second}.000001Z`, `${second}.000001+01:00`, `${second}.000001-01:00`];
  expect(await Promise.all(moments.map(found))).toEqual([0, 0, 1, 0, 1]);
  expect(await found("0001-01-01T00:00:00Z")).toBe(0);
  expect(await found("9999-12-31T23:59:59.999999999Z")).toBe(1);
  expect(await found("0001-01-01T00:00:00+15:00")).toBeUndefined();
});

test("POST {org}/api-tokens: 201 keeps expiresAt to the microsecond, 400 for a moment that is past", async () => {
  const organization = await newOrganization();
  const create = (expiresAt: string) => organization.admin("POST", "/api-tokens", { body: { name: "A", role: "ORG_ADMIN", expiresAt } });
  const { body } = await create("2099-12-31T23:59:59.1234567+01:00");
  expect(body.expiresAt).toBe("2099-12-31T22:59:59.123456Z");
  expect((await organization.admin("GET", `/api-tokens/${body.id}`)).body.expiresAt).toBe(body.expiresAt);
  const { token } = body;
  const another = (expiresAt: string) => organization.admin("POST", "/api-tokens", { token, body: { name: "B", role: "ORG_ADMIN", expiresAt } });
  expect((await another(body.expiresAt)).status).toBe(201);
  expect((await another("2099-12-31T22:59:59.123457Z")).status).toBe(403);
  expect((await create("2016-12-31T23:59:59Z")).body.message).toBe("body.expiresAt must be in the future.");
});

test("GET {org}/audit-events: 200 from and to with an offset and the first and last year", async () => {
  const organization = await newOrganization();
  await organization.admin("POST", "/api-tokens", { body: { name: "A", role: "ORG_MEMBER" } });
  const count = async (query: Record<string, string>) => (await organization.admin("GET", `/audit-events?${new URLSearchParams(query)}`)).body.items.length;
  const all = await count({});
  expect(all).toBeGreaterThan(0);
  expect(await count({ from: "2016-12-31T23:59:59Z", to: "9999-12-31T23:59:59.999999999Z" })).toBe(all);
  expect(await count({ from: "0001-01-01T00:00:00Z", to: "2017-01-01T01:59:59+02:00" })).toBe(0);
});

test.each([
  ["a query", "GET", "/certificates?expiresBefore="],
  ["the filter of a trail", "GET", "/audit-events?from="],
  ["a body", "POST", "/api-tokens"],
])("400 for a second 60, an hour 24, a 30 February and an offset beyond 14 hours in %s", async (_, method, path) => {
  const organization = await newOrganization();
  for (const moment of ["2099-12-31T23:59:60Z", "2099-12-31T24:00:00Z", "2099-02-30T00:00:00Z", "2099-12-31T23:59:59+14:30"]) {
    const body = { name: "A", role: "ORG_MEMBER", expiresAt: moment };
    const answer = await (method === "POST" ? organization.admin("POST", path, { body }) : organization.admin("GET", `${path}${encodeURIComponent(moment)}`));
    expect({ moment, status: answer.status, message: answer.body.message }).toEqual({
      moment,
      status: 400,
      message: expect.stringContaining("must be a date and time"),
    });
  }
});
