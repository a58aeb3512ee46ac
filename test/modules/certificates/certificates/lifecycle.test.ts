import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { importRoot } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";
import { newPoller } from "../../fleet/agent-protocol/pollers";

const withCertificate = async () => {
  const organization = await newOrganization();
  const [id] = await importInto(organization, certificate().pem);
  return { organization, id, path: `/certificates/${id}` };
};

describe("POST /organizations/{organizationId}/certificates/{certificateId}/revoke", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withCertificate();
    expect((await organization.member("POST", `${path}/revoke`, { body: {} })).status).toBe(403);
  });

  test.each([{ reason: "removeFromCRL" }, { reason: 1 }, { reason: "" }, { why: "x" }])("400 for %j", async (body) => {
    const { organization, path } = await withCertificate();
    expect((await organization.admin("POST", `${path}/revoke`, { body })).status).toBe(400);
  });

  test("404 for another organization's certificate and for what is no id", async () => {
    const { path } = await withCertificate();
    const other = await newOrganization();
    expect((await other.admin("POST", `${path}/revoke`, { body: {} })).status).toBe(404);
    expect((await other.admin("POST", "/certificates/x/revoke", { body: {} })).status).toBe(404);
  });

  test("412 for a stale If-Match, and nothing changes", async () => {
    const { organization, path } = await withCertificate();
    for (const tag of ['"2"', "1", 'W/"1"', "nonsense"])
      expect(await organization.admin("POST", `${path}/revoke`, { body: {}, headers: { "if-match": tag } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).body.status).toBe("active");
  });

  test("409 the second time", async () => {
    const { organization, path } = await withCertificate();
    await organization.admin("POST", `${path}/revoke`, { body: {} });
    expect(await organization.admin("POST", `${path}/revoke`, { body: {} })).toMatchObject({ status: 409, body: {} });
  });

  test("200 keeps the reason and the time, and gives a new ETag", async () => {
    const { organization, id, path } = await withCertificate();
    const before = await organization.admin("GET", path);
    const answer = await organization.admin("POST", `${path}/revoke`, {
      body: { reason: "keyCompromise" },
      headers: { "if-match": before.headers.get("etag") ?? "" },
    });
    expect(answer).toMatchObject({
      status: 200,
      body: { id, status: "revoked", revocationReason: "keyCompromise", revokedAt: expect.any(String), version: 2 },
    });
    expect(answer.headers.get("etag")).toBe('"2"');
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({
      action: "certificate.revoked",
      targetId: id,
      details: { reason: "keyCompromise" },
      requestId: answer.headers.get("x-request-id"),
    });
  });

  test("200 for one that is retired, which it stays; 409 the second time, and an import does not make it active", async () => {
    const organization = await newOrganization();
    const { pem } = certificate();
    const [id] = await importInto(organization, pem);
    const path = `/certificates/${id}`;
    await organization.admin("DELETE", path);
    const revoke = () => organization.admin("POST", `${path}/revoke`, { body: { reason: "keyCompromise" } });
    const revoked = { status: "retired", retiredAt: expect.any(String), revokedAt: expect.any(String), revocationReason: "keyCompromise" };
    expect(await revoke()).toMatchObject({ status: 200, body: revoked });
    expect(await revoke()).toMatchObject({ status: 409, body: {} });
    expect((await organization.admin("POST", "/certificates", { body: { pem } })).body.duplicates).toMatchObject([{ id, reactivated: false }]);
    expect((await organization.admin("GET", path)).body).toMatchObject(revoked);
  });

  test("200 for exactly one of twenty at once, and one audit event", async () => {
    const { organization, path } = await withCertificate();
    const answers = await Promise.all(Array.from({ length: 20 }, () => organization.admin("POST", `${path}/revoke`, { body: {} })));
    expect(answers.filter((each) => each.status === 200)).toHaveLength(1);
    expect(answers.filter((each) => each.status === 409)).toHaveLength(19);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    expect(items.filter((each: { action: string }) => each.action === "certificate.revoked")).toHaveLength(1);
  });
});

describe("DELETE /organizations/{organizationId}/certificates/{certificateId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withCertificate();
    expect((await organization.member("DELETE", path)).status).toBe(403);
  });

  test("404 for another organization's certificate", async () => {
    const { path } = await withCertificate();
    expect((await (await newOrganization()).admin("DELETE", path)).status).toBe(404);
  });

  test("412 for a stale If-Match", async () => {
    const { organization, path } = await withCertificate();
    expect((await organization.admin("DELETE", path, { headers: { "if-match": '"9"' } })).status).toBe(412);
  });

  test("204 retires it: still readable, and a second time changes nothing", async () => {
    const { organization, path } = await withCertificate();
    expect(await organization.admin("DELETE", path)).toMatchObject({ status: 204, body: "" });
    const { body } = await organization.admin("GET", path);
    expect(body).toMatchObject({ status: "retired", retiredAt: expect.any(String), version: 2 });
    expect((await organization.admin("DELETE", path)).status).toBe(204);
    expect((await organization.admin("GET", path)).body).toEqual(body);
  });
});

describe("POST /organizations/{organizationId}/certificates/{certificateId}/reinstate", () => {
  const onHold = async () => {
    const made = await withCertificate();
    await made.organization.admin("POST", `${made.path}/revoke`, { body: { reason: "certificateHold" } });
    return made;
  };

  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await onHold();
    expect((await organization.member("POST", `${path}/reinstate`)).status).toBe(403);
  });

  test("404 for another organization's certificate and for what is no id", async () => {
    const { path } = await onHold();
    const other = await newOrganization();
    expect((await other.admin("POST", `${path}/reinstate`)).status).toBe(404);
    expect((await other.admin("POST", "/certificates/x/reinstate")).status).toBe(404);
  });

  test("412 for a stale If-Match, and it stays on hold", async () => {
    const { organization, path } = await onHold();
    expect(await organization.admin("POST", `${path}/reinstate`, { headers: { "if-match": '"1"' } })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).body.status).toBe("revoked");
  });

  test("409 for one that is active, retired or revoked for good", async () => {
    const { organization, path } = await withCertificate();
    const reinstate = () => organization.admin("POST", `${path}/reinstate`);
    expect(await reinstate()).toMatchObject({ status: 409, body: {} });
    await organization.admin("POST", `${path}/revoke`, { body: { reason: "superseded" } });
    expect(await reinstate()).toMatchObject({ status: 409, body: {} });
    await organization.admin("DELETE", path);
    expect(await reinstate()).toMatchObject({ status: 409, body: {} });
  });

  test("200 makes it active again, with a new ETag, an audit event and its place among the soonest to expire", async () => {
    const { organization, id, path } = await onHold();
    const held = await organization.admin("GET", path);
    const answer = await organization.admin("POST", `${path}/reinstate`, { headers: { "if-match": held.headers.get("etag") ?? "" } });
    expect(answer).toMatchObject({ status: 200, body: { id, status: "active", revokedAt: null, revocationReason: null, version: 3 } });
    expect(answer.headers.get("etag")).toBe('"3"');
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "certificate.reinstated", targetId: id, requestId: answer.headers.get("x-request-id") });
    const { items } = (await organization.member("GET", "/certs/monitoring/top-expiring")).body;
    expect(items.map((each: { certificateId: string }) => each.certificateId)).toEqual([id]);
    expect(await organization.admin("POST", `${path}/reinstate`)).toMatchObject({ status: 409, body: {} });
  });

  test("200 ends the hold of one that was retired: it stays retired, and an import makes it active again", async () => {
    const organization = await newOrganization();
    const { pem } = certificate();
    const [id] = await importInto(organization, pem);
    const path = `/certificates/${id}`;
    await organization.admin("POST", `${path}/revoke`, { body: { reason: "certificateHold" } });
    await organization.admin("DELETE", path);
    const answer = await organization.admin("POST", `${path}/reinstate`);
    expect(answer).toMatchObject({ status: 200, body: { status: "retired", revokedAt: null, revocationReason: null, version: 4 } });
    expect(await organization.admin("POST", `${path}/reinstate`)).toMatchObject({ status: 409, body: {} });
    expect((await organization.admin("POST", "/certificates", { body: { pem } })).body.duplicates).toMatchObject([{ id, reactivated: true }]);
    expect((await organization.admin("GET", path)).body).toMatchObject({ status: "active", retiredAt: null });
  });

  test("200 for exactly one of ten at once", async () => {
    const { organization, path } = await onHold();
    const answers = await Promise.all(Array.from({ length: 10 }, () => organization.admin("POST", `${path}/reinstate`)));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array(9).fill(409)]);
  });

  test("200 and its agents install it again", async () => {
    const { organization, assign, ask } = await newPoller();
    const id = await importRoot(organization);
    await assign(id);
    await organization.admin("POST", `/certificates/${id}/revoke`, { body: { reason: "certificateHold" } });
    const held = await ask();
    expect(held.body.items).toEqual([]);
    await organization.admin("POST", `/certificates/${id}/reinstate`);
    expect(await ask(held.headers.get("etag") ?? "")).toMatchObject({ status: 200, body: { items: [{ certificateId: id }], keep: [] } });
  });
});
