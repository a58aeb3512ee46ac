import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";
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
      "body.overrides[1] is for the same certificates as one before it.",
    ],
    ["an override for none", refused([{ thresholds: [{ days: 3 }] }]), "body.overrides[0] must have an issuer, a selector, or both."],
    ["a selector that cannot be read", refused([{ selector: "env=", thresholds: [{ days: 3 }] }]), "body.overrides[0].selector cannot be read"],
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
  expect(before.headers.get("etag")).toEqual(readTag(0));
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
  const { organization, admin, member, noticesOf } = await newWatched();
  const issuer = certificate({ commonName: "Policy CA", isCa: true, days: 3_000 });
  const [, id] = await importInto(organization, certificate({ from: -100, days: 90 }).pem, certificate({ issuer, from: -100, days: 90 }).pem);
  await watch();
  expect(await noticesOf(admin)).toEqual([]);
  const { body: issued } = await organization.admin("GET", `/certificates/${id}`);
  const overrides = [{ issuer: issued.issuer, thresholds: [{ days: 100 }] }];
  await organization.admin("PUT", PATH, { body: { thresholds: [{ days: 95 }], overrides, role: "ORG_MEMBER" } });
  await watch();
  for (const user of [admin, member])
    expect((await noticesOf(user)).map(({ data }: { data: { items: { days: number }[] } }) => data.items[0]?.days).toSorted()).toEqual([100, 95]);
});

test("thresholds by label, and by label and issuer together: the first override that fits counts", async () => {
  const { organization, admin, noticesOf } = await newWatched();
  const issuer = certificate({ commonName: "Label CA", isCa: true, days: 3_000 });
  const soon = (commonName: string, rest = {}) => certificate({ commonName, from: -100, days: 90, ...rest }).pem;
  const ids = await importInto(organization, soon("plain"), soon("prod"), soon("issued-prod", { issuer }), soon("issued", { issuer }));
  for (const id of ids.slice(1, 3)) await organization.admin("PATCH", `/certificates/${id}`, { body: { labels: { env: "prod" } } });
  const { body: issued } = await organization.admin("GET", `/certificates/${ids[3]}`);
  const body = {
    thresholds: [{ days: 5 }],
    overrides: [
      { issuer: issued.issuer, selector: "env=prod,!tier", thresholds: [{ days: 101 }] },
      { selector: "env in (prod,edge)", thresholds: [{ days: 102 }] },
      { issuer: issued.issuer, thresholds: [{ days: 103 }] },
    ],
  };
  const { body: put } = await organization.admin("PUT", PATH, { body });
  expect(put.overrides).toEqual(body.overrides);
  expect((await organization.admin("PUT", PATH, { body })).body.version).toBe(put.version);
  await watch();
  const received = (await noticesOf(admin)).flatMap(({ data }: { data: { items: { commonName: string; days: number }[] } }) => data.items);
  expect(received.map(({ commonName, days }: { commonName: string; days: number }) => `${commonName} ${days}`).toSorted()).toEqual([
    "issued 103",
    "issued-prod 101",
    "prod 102",
  ]);
  await organization.admin("PATCH", `/certificates/${ids[0]}`, { body: { labels: { env: "edge" } } });
  await watch();
  expect((await noticesOf(admin)).at(-1)).toMatchObject({ title: "plain expires in 89 days", data: { items: [{ id: ids[0], days: 102 }] } });
});
