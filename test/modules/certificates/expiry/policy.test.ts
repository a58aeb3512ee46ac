import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";
import { newWatched, watch } from "./watch";

const PATH = "/certificates/expiry-policy";
const refused = (overrides: object[]) => ({ thresholds: [{ days: 30 }], overrides });

describe("PUT expiry policy refuses", () => {
  test.each([
    ["no thresholds", {}, "body.thresholds"],
    ["an empty list", { thresholds: [] }, "body.thresholds"],
    ["a threshold of no days", { thresholds: [{ days: 0 }] }, "body.thresholds"],
    ["text for a number", { thresholds: [{ days: "30" }] }, "body.thresholds"],
    ["a share above one", { thresholds: [{ days: 30, share: 1.1 }] }, "share"],
    ["a threshold twice", { thresholds: [{ days: 30 }, { days: 30, share: 0.5 }] }, "body.thresholds names 30 days twice."],
    [
      "a threshold twice in an override",
      refused([{ issuer: "CN=a", thresholds: [{ days: 3 }, { days: 3 }] }]),
      "body.overrides[0].thresholds names 3 days twice.",
    ],
    [
      "an issuer twice",
      refused(Array.from({ length: 2 }, () => ({ issuer: "CN=a", thresholds: [{ days: 3 }] }))),
      'body.overrides names the issuer "CN=a" twice.',
    ],
    ["an unknown role", { thresholds: [{ days: 30 }], role: "OWNER" }, "body.role"],
    ["an unknown field", { thresholds: [{ days: 30 }], hours: 3 }, "hours"],
  ])("%s: 400", async (_, body, words) => {
    const { admin } = await newOrganization();
    const answer = await admin("PUT", PATH, { body });
    expect(answer.status).toBe(400);
    expect(answer.body.message).toContain(words);
  });

  test("a member: 403", async () => {
    const { member } = await newOrganization();
    expect((await member("PUT", PATH, { body: { thresholds: [{ days: 30 }] } })).status).toBe(403);
  });

  test("a stale version: 412", async () => {
    const { admin } = await newOrganization();
    expect((await admin("PUT", PATH, { body: { thresholds: [{ days: 30 }] }, headers: { "if-match": '"0"' } })).status).toBe(200);
    const answer = await admin("PUT", PATH, { body: { thresholds: [{ days: 20 }] }, headers: { "if-match": '"0"' } });
    expect([answer.status, answer.body]).toEqual([412, {}]);
  });
});

test("the defaults have version 0; a policy takes their place, and leaves one event", async () => {
  const { admin, member } = await newOrganization();
  const before = await member("GET", PATH);
  expect(before.headers.get("etag")).toBe('"0"');
  expect(before.body).toMatchObject({ overrides: [], role: "ORG_ADMIN", version: 0, updatedAt: null });
  expect(before.body.thresholds.map(({ days }: { days: number }) => days)).toEqual([60, 30, 14, 7, 3, 1]);
  const body = { thresholds: [{ days: 45, share: 0.5 }], overrides: [{ issuer: "CN=Short", thresholds: [{ days: 2 }] }], role: "ORG_MEMBER" };
  const put = await admin("PUT", PATH, { body });
  expect(put.body).toMatchObject({ ...body, version: 1 });
  expect((await admin("PUT", PATH, { body })).body.version).toBe(1);
  expect((await member("GET", PATH)).body).toEqual(put.body);
  const { body: trail } = await admin("GET", "/audit-events?action=expiry-policy.updated");
  expect(trail.items).toHaveLength(1);
  expect(trail.items[0].details).toMatchObject({ from: { role: "ORG_ADMIN" }, to: body });
});

test("racing policies with one precondition never both win", async () => {
  const { admin } = await newOrganization();
  const put = (days: number) => admin("PUT", PATH, { body: { thresholds: [{ days }] }, headers: { "if-match": '"0"' } });
  const statuses = (await Promise.all([1, 2, 3, 4].map(put))).map(({ status }) => status);
  expect(statuses.toSorted()).toEqual([200, 412, 412, 412]);
});

test("a policy counts for certificates that were looked at before, by issuer and for whom it says", async () => {
  const { organization, admin, member, toldTo } = await newWatched();
  const issuer = certificate({ commonName: "Policy CA", isCa: true, days: 3_000 });
  const [, id] = await importInto(organization, certificate({ from: -100, days: 90 }).pem, certificate({ issuer, from: -100, days: 90 }).pem);
  await watch();
  expect(await toldTo(admin)).toEqual([]);
  const { body: issued } = await organization.admin("GET", `/certificates/${id}`);
  const overrides = [{ issuer: issued.issuer, thresholds: [{ days: 100 }] }];
  await organization.admin("PUT", PATH, { body: { thresholds: [{ days: 95 }], overrides, role: "ORG_MEMBER" } });
  await watch();
  for (const user of [admin, member]) expect((await toldTo(user)).map(({ data }: { data: { days: number } }) => data.days).toSorted()).toEqual([100, 95]);
});
