import { describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { startWith } from "../auth/servers";
import { batch, deliver, newKey, newSender, pathOf } from "../modules/governance/ai-systems/senders";
import { call } from "../support/server/call";
import { newOrganization, newUser, sign } from "../support/server/people";

const refused = { status: 401, body: "" };
const minutes = (count: number) => new Date(Date.now() + count * 60_000);

describe("a sender of metrics by its key", () => {
  test.each([
    ["nothing", ""],
    ["another scheme", "Basic QTpC"],
    ["an unknown key", `Bearer whsec_${Buffer.alloc(32).toString("base64")}`],
    ["a key in quotes", 'Bearer "x"'],
    ["NUL", "Bearer %00"],
    ["ten thousand characters", `Bearer ${"x".repeat(10_000)}`],
  ])("401 with an empty body for %s", async (_, authorization) => {
    const { organization } = await newSender();
    expect(await call("POST", pathOf(organization), { body: {}, headers: { authorization } })).toMatchObject(refused);
  });

  test("401 for a user's token, for any user", async () => {
    const { organization } = await newSender();
    const admin = await organization.join();
    for (const token of [admin.token, await sign({ sub: crypto.randomUUID() })])
      expect(await call("POST", pathOf(organization), { body: {}, token, headers: organization.headers("ORG_ADMIN") })).toMatchObject(refused);
  });

  test("403 with an empty body for a key of another organization, also where there is none", async () => {
    const [{ organization }, other] = [await newSender(), await newSender()];
    for (const target of [organization, { id: crypto.randomUUID() }, { id: "x" }])
      expect(await call("POST", pathOf(target), { body: {}, token: other.key })).toMatchObject({ status: 403, body: "" });
  });

  test("a key opens nothing else", async () => {
    const { organization, key } = await newSender();
    expect((await call("GET", "/users/me", { token: key })).status).toBe(401);
    expect((await organization.admin("GET", "/ai-governance/systems", { token: key })).status).toBe(401);
  });

  test("202 for each of several live keys, on any server, from any address", async () => {
    const organization = await newOrganization();
    const keys = [await newKey(organization), await newKey(organization)];
    await using replica = startWith({ TRUSTED_GATEWAYS: "10.0.0.0/8" });
    for (const { key } of keys) {
      expect((await call("POST", pathOf(organization), { body: batch(), token: key, headers: { "x-forwarded-for": "203.0.113.7" } })).status).toBe(202);
      expect((await call("POST", pathOf(organization).replace(organization.id, organization.id.toUpperCase()), { body: batch(), token: key })).status).toBe(
        202,
      );
      expect((await call("POST", pathOf(organization), { body: batch(), token: key, url: replica.url })).status).toBe(202);
    }
  });
});

describe("a sender of metrics by a signature", () => {
  test("202 for a signature with any live key, and 401 once its key is deleted", async () => {
    const organization = await newOrganization();
    const [old, fresh] = [await newKey(organization), await newKey(organization)];
    for (const { key } of [old, fresh]) expect((await deliver(organization, key, batch())).status).toBe(202);
    await organization.admin("DELETE", `/ai-governance/ingest/keys/${old.id}`);
    expect(await deliver(organization, old.key, batch())).toMatchObject(refused);
    expect((await deliver(organization, fresh.key, batch())).status).toBe(202);
  });

  test("202 when one of several signatures is right, as while a sender rotates", async () => {
    const { organization, key } = await newSender();
    const { key: foreign } = await newKey(await newOrganization());
    const signatures = [foreign, key].map((each) => new Webhook(each).sign("delivery", new Date(), JSON.stringify(batch())));
    const headers = { "webhook-signature": `v1a,AAAA ${signatures.join(" ")}` };
    expect((await deliver(organization, key, batch(), { id: "delivery", sent: { headers } })).status).toBe(202);
  });

  test("401 for a signature with another organization's key: who signed cannot be known", async () => {
    const [{ organization }, other] = [await newSender(), await newSender()];
    expect(await deliver(organization, other.key, batch())).toMatchObject(refused);
  });

  test.each([
    ["another body", { raw: JSON.stringify(batch({ metric: "accuracy", value: 1 })) }],
    ["the same JSON with a space", { raw: ` ${JSON.stringify(batch())}` }],
    ["no body", { raw: "" }],
    ["another id", { headers: { "webhook-id": "another" } }],
    ["another time", { headers: { "webhook-timestamp": `${Math.floor(Date.now() / 1_000) - 7}` } }],
    ["no time", { headers: { "webhook-timestamp": "" } }],
    ["a time that is no number", { headers: { "webhook-timestamp": "now" } }],
    ["no id", { headers: { "webhook-id": "" } }],
    ["an empty signature", { headers: { "webhook-signature": "" } }],
    ["another version of it", { headers: { "webhook-signature": "v2,AAAA" } }],
    ["no signature in it", { headers: { "webhook-signature": "v1" } }],
    ["many signatures", { headers: { "webhook-signature": "v1,AAAA ".repeat(1_000).trim() } }],
  ])("401 for %s", async (_, sent) => {
    const { signed } = await newSender();
    expect(await signed(batch(), { sent })).toMatchObject(refused);
  });

  test.each([-5.1, 5.1, -60, 525_600])("401 when signed %d minutes from now", async (distance) => {
    const { signed } = await newSender();
    expect(await signed(batch(), { at: minutes(distance) })).toMatchObject(refused);
  });

  test.each([-4.9, 4.9])("202 when signed %d minutes from now", async (distance) => {
    const { signed } = await newSender();
    expect((await signed(batch(), { at: minutes(distance) })).status).toBe(202);
  });

  test("401 on a server whose clock is ten minutes off", async () => {
    const { signed } = await newSender();
    await using late = startWith({}, () => minutes(10));
    expect(await signed(batch(), { sent: { url: late.url } })).toMatchObject(refused);
  });

  test("401 rather than 400 for a body that would be refused, 400 once it is signed", async () => {
    const { organization, signed } = await newSender();
    const wrong = { "webhook-signature": `v1,${Buffer.alloc(32).toString("base64")}` };
    expect(await signed({}, { sent: { headers: wrong } })).toMatchObject(refused);
    expect((await signed({})).body.message).toBe("body.system is required.");
    expect(await call("POST", pathOf(organization), { raw: "{", headers: wrong })).toMatchObject(refused);
  });

  test("401 for a bearer that is wrong, although the signature is right", async () => {
    const { signed } = await newSender();
    expect(await signed(batch(), { sent: { headers: { authorization: "Bearer x" } } })).toMatchObject(refused);
  });
});

describe("a sender of metrics without any credential", () => {
  test("202 from a trusted gateway while the organization has no key, 401 as soon as it has one", async () => {
    const organization = await newOrganization();
    expect((await call("POST", pathOf(organization), { body: batch() })).status).toBe(202);
    const { id } = await newKey(organization);
    expect(await call("POST", pathOf(organization), { body: batch() })).toMatchObject(refused);
    expect(await call("POST", pathOf(organization), { body: {}, headers: organization.headers("ORG_ADMIN") })).toMatchObject(refused);
    await organization.admin("DELETE", `/ai-governance/ingest/keys/${id}`);
    expect((await call("POST", pathOf(organization), { body: batch() })).status).toBe(202);
  });

  test("401 from anywhere else", async () => {
    const organization = await newOrganization();
    for (const gateways of ["10.0.0.0/8", undefined]) {
      await using outside = startWith({ TRUSTED_GATEWAYS: gateways });
      expect(await call("POST", pathOf(organization), { body: {}, url: outside.url })).toMatchObject(refused);
    }
  });

  test("401 for an organization that does not exist, and what is no id", async () => {
    for (const id of [crypto.randomUUID(), "x", "%00"]) expect(await call("POST", pathOf({ id }), { body: {} })).toMatchObject(refused);
    const user = await newUser();
    expect(await user.call("POST", pathOf({ id: crypto.randomUUID() }), { body: {} })).toMatchObject(refused);
  });
});
