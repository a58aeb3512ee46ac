import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { call } from "../../../support/server/call";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";
import { auditOf, change, control } from "./controls";

const { id, path, ref } = control();
const evidence = [{ title: "Oversight procedure", url: "https://wiki.certitude.example/oversight" }];

describe("PATCH /organizations/{organizationId}/ai-governance/frameworks/{frameworkKey}/controls/{controlId}", () => {
  test("403 for an ORG_MEMBER, without headers, and for another organization's headers", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const body = { status: "in_progress" };
    expect((await organization.member("PATCH", path, { body })).status).toBe(403);
    expect((await call("PATCH", `/organizations/${organization.id}${path}`, { body })).status).toBe(403);
    expect((await call("PATCH", `/organizations/${organization.id}${path}`, { body, headers: other.headers("ORG_ADMIN") })).status).toBe(403);
    expect((await call("PATCH", `/organizations/${organization.id}${path}`, { body, headers: organization.headers("ORG_ADMIN"), token: "x" })).status).toBe(
      401,
    );
  });

  test.each<[unknown, string]>([
    [{}, "body.status is required."],
    [[], "The body must be an object."],
    [{ status: "done" }, "body.status must be one of not_started, in_progress, implemented, not_applicable."],
    [{ status: null }, "body.status must be one of not_started, in_progress, implemented, not_applicable."],
    [{ status: "in_progress", state: 1 }, "body.state is not a known field."],
    [{ status: "in_progress", note: "" }, "body.note must be text of 1 to 2000 characters, without NUL."],
    [{ status: "in_progress", note: "x".repeat(2_001) }, "body.note must be text of 1 to 2000 characters, without NUL."],
    [{ status: "in_progress", note: "a\0b" }, "body.note must be text of 1 to 2000 characters, without NUL."],
    [{ status: "in_progress", note: 5 }, "body.note must be text of 1 to 2000 characters, without NUL."],
    [{ status: "in_progress", ownerId: "ada" }, "body.ownerId must be a UUID."],
    [{ status: "in_progress", dueDate: "soon" }, "body.dueDate must be a day, such as 2030-01-31."],
    [{ status: "in_progress", dueDate: "2030-02-30" }, "body.dueDate must be a day, such as 2030-01-31."],
    [{ status: "in_progress", dueDate: "0000-01-01" }, "body.dueDate must be a day, such as 2030-01-31."],
    [{ status: "in_progress", dueDate: "2030-01-31T00:00:00Z" }, "body.dueDate must be a day, such as 2030-01-31."],
    [{ status: "in_progress", evidence: null }, "body.evidence must be a list of 0 to 50 items."],
    [{ status: "in_progress", evidence: Array(51).fill(evidence[0]) }, "body.evidence must be a list of 0 to 50 items."],
    [{ status: "in_progress", evidence: ["x"] }, "body.evidence.0 must be an object."],
    [{ status: "in_progress", evidence: [{ url: "https://a.example" }] }, "body.evidence.0.title is required."],
    [
      { status: "in_progress", evidence: [{ title: " ", url: "https://a.example" }] },
      "body.evidence.0.title must be text of 1 to 200 characters, without NUL.",
    ],
    [{ status: "in_progress", evidence: [{ title: "A", uri: "https://a.example" }] }, "body.evidence.0.uri is not a known field."],
    [{ status: "in_progress", evidence: [...evidence, { title: "A" }] }, "body.evidence.1 must have either a url or a certificateId."],
    [
      { status: "in_progress", evidence: [{ title: "A", url: "https://a.example", certificateId: id }] },
      "body.evidence.0 must have either a url or a certificateId.",
    ],
    [{ status: "in_progress", evidence: [{ title: "A", certificateId: "x" }] }, "body.evidence.0.certificateId must be a UUID."],
    [{ status: "in_progress", evidence: [{ title: "A", certificateId: id }] }, "body.evidence.0.certificateId must be a certificate of this organization."],
    [{ status: "implemented" }, "body.status can be implemented only with evidence or a note: send one, or store it first."],
    [{ status: "implemented", note: null, evidence: [] }, "body.status can be implemented only with evidence or a note: send one, or store it first."],
    [{ status: "not_applicable" }, "body.status can be not_applicable only with a note that says why: send one, or store it first."],
    [{ status: "not_applicable", evidence }, "body.status can be not_applicable only with a note that says why: send one, or store it first."],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    expect(await change(organization, path, body)).toMatchObject({ status: 400, body: { message } });
    expect((await organization.admin("GET", path)).body).toMatchObject({ version: 0, history: { items: [] } });
  });

  test.each([
    "ftp://a.example",
    "javascript:alert(1)",
    "http:a.example",
    "//a.example",
    "https://",
    "https://ada:secret@a.example",
    "https://a.example/a b",
    "https://a.example/\u0000",
    "https://a.example\n",
    `https://a.example/${"x".repeat(2_000)}`,
    5,
  ])("400 for evidence at %j", async (url) => {
    const organization = await newOrganization();
    expect(await change(organization, path, { status: "in_progress", evidence: [{ title: "A", url }] })).toMatchObject({
      status: 400,
      body: { message: "body.evidence.0.url must be an address that starts with https:// or http://, without a password in it." },
    });
  });

  test("400 for a framework or control id that cannot be", async () => {
    const organization = await newOrganization();
    const body = { status: "in_progress" };
    const wrong = (await change(organization, path.replace("euaiact", "gdpr"), body)).body;
    expect(wrong.message).toBe("params.frameworkKey must be one of euaiact, nist, iso.");
    expect((await change(organization, "/ai-governance/frameworks/iso/controls/x", body)).body.message).toBe("params.controlId must be a UUID.");
  });

  test("400 for an owner who is a stranger or another organization's member", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const stranger = await other.join();
    const message = "body.ownerId must be the user id of an active member of this organization.";
    for (const ownerId of [crypto.randomUUID(), stranger.id])
      expect(await change(organization, path, { status: "in_progress", ownerId })).toMatchObject({ status: 400, body: { message } });
  });

  test("400 for another organization's certificate as evidence", async () => {
    const [organization, other] = [await newOrganization(), await newOrganization()];
    const [certificateId] = await importInto(other, certificate().pem);
    const body = { status: "in_progress", evidence: [...evidence, { title: "A", certificateId }] };
    expect((await change(organization, path, body)).body.message).toBe("body.evidence.1.certificateId must be a certificate of this organization.");
  });

  test("404 for an unknown control, and for one of another framework", async () => {
    const organization = await newOrganization();
    for (const nowhere of [path.replace(id, crypto.randomUUID()), path.replace("euaiact", "nist")])
      expect((await change(organization, nowhere, { status: "in_progress" })).status).toBe(404);
  });

  test("412 for a stale If-Match, before anything about the control is shown, and nothing changes", async () => {
    const organization = await newOrganization();
    await change(organization, path, { status: "in_progress" });
    for (const tag of ['"0"', '"2"', "1", 'W/"1"'])
      expect(await change(organization, path, { status: "implemented" }, { "if-match": tag })).toMatchObject({ status: 412, body: {} });
    expect((await organization.admin("GET", path)).body).toMatchObject({ status: "in_progress", version: 1 });
  });

  test("200 the control as it is now, with its ETag, in the history and in the audit trail", async () => {
    const organization = await newOrganization();
    const owner = await organization.join("ORG_MEMBER");
    const [certificateId = ""] = await importInto(organization, certificate().pem);
    const body = {
      status: "implemented",
      note: "  Reviewed. ",
      evidence: [...evidence, { title: "Signing certificate", certificateId: certificateId.toUpperCase() }],
      ownerId: owner.id.toUpperCase(),
      dueDate: "2030-02-28",
    };
    const answer = await change(organization, path.toUpperCase().replace(/.*CONTROLS\//, "/ai-governance/frameworks/euaiact/controls/"), body, {
      "if-match": '"0"',
    });
    const now = { ...body, note: "Reviewed.", ownerId: owner.id, evidence: [...evidence, { title: "Signing certificate", certificateId }] };
    expect(answer).toMatchObject({ status: 200, body: { id, framework: "euaiact", ref, ...now, version: 1, updatedAt: expect.any(String) } });
    expect(answer.headers.get("etag")).toBe('"1"');
    const read = await organization.member("GET", path);
    expect(read.body).toEqual({
      ...answer.body,
      history: { items: [{ ...now, version: 1, at: expect.any(String), actor: { type: "gateway", role: "ORG_ADMIN" } }], nextCursor: null },
    });
    expect(read.headers.get("etag")).toEqual(readTag(1));
    const [event] = await auditOf(organization);
    expect(event).toMatchObject({
      action: "control.changed",
      targetType: "control",
      targetId: id,
      details: { framework: "euaiact", ref, status: "implemented", previousStatus: "not_started" },
      requestId: answer.headers.get("x-request-id"),
    });
  });
});
