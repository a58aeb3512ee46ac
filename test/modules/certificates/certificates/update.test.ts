import { describe, expect, test } from "bun:test";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { newOrganization, type TestOrganization } from "../../../support/server/people";

async function withCertificate() {
  const organization = await newOrganization();
  const [id = ""] = await importInto(organization, certificate().pem);
  const patch = (body: unknown, headers = {}) => organization.admin("PATCH", `/certificates/${id}`, { body, headers });
  const read = async () => (await organization.member("GET", `/certificates/${id}`)).body;
  return { organization, id, patch, read };
}
const labelsOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, "x"]));
const contactsOf = (count: number) => Array.from({ length: count }, (_, index) => `${index}@people.example`);
const eventsOf = async (organization: TestOrganization, id: string) =>
  (await organization.admin("GET", `/audit-events?action=certificate.updated&targetId=${id}`)).body.items;
const EMPTY = { ownerId: null, contacts: [], labels: {}, notes: null };

describe("PATCH /organizations/{organizationId}/certificates/{certificateId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, id } = await withCertificate();
    expect((await organization.member("PATCH", `/certificates/${id}`, { body: { notes: "x" } })).status).toBe(403);
  });

  test.each([
    [{}, "at least 1 of its fields"],
    [{ status: "active" }, "status"],
    [{ ownerId: "ada" }, "body.ownerId"],
    [{ contacts: ["ada"] }, "body.contacts.0"],
    [{ contacts: ["ada@localhost"] }, "body.contacts.0"],
    [{ contacts: null }, "body.contacts"],
    [{ contacts: contactsOf(21) }, "body.contacts"],
    [{ labels: { Env: "x" } }, 'body.labels names the key "Env"'],
    [{ labels: { [`k${"y".repeat(63)}`]: "x" } }, "body.labels names the key"],
    [{ labels: { env: "x".repeat(64) } }, "body.labels.env"],
    [{ labels: { env: "" } }, "body.labels.env"],
    [{ labels: { env: null } }, "body.labels.env"],
    [{ labels: null }, "body.labels"],
    [{ labels: labelsOf(65) }, "body.labels names 65 labels, but there may be at most 64."],
    [{ notes: "" }, "body.notes"],
    [{ notes: "x".repeat(2_001) }, "body.notes"],
    [{ notes: "a\0b" }, "body.notes"],
  ])("400 for %j, and it names the field", async (body, words) => {
    const { patch, read } = await withCertificate();
    const answer = await patch(body);
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(words) } });
    expect(await read()).toMatchObject({ ...EMPTY, version: 1 });
  });

  test("400 for an owner who is a stranger, is only invited, or has left", async () => {
    const { organization, patch, read } = await withCertificate();
    const [stranger, leaver] = [await (await newOrganization()).join(), await organization.join("ORG_MEMBER")];
    const { body: invited } = await organization.admin("POST", "/members", { body: { email: `${crypto.randomUUID()}@people.example` } });
    await leave(organization, leaver.id);
    for (const ownerId of [stranger.id, leaver.id, invited.id, crypto.randomUUID()])
      expect(await patch({ ownerId, notes: "x" })).toMatchObject({
        status: 400,
        body: { message: "body.ownerId must be the user id of an active member of this organization." },
      });
    expect(await read()).toMatchObject({ ...EMPTY, version: 1 });
  });

  test("404 for another organization's certificate and for what is no id", async () => {
    const { id } = await withCertificate();
    const other = await newOrganization();
    for (const path of [`/certificates/${id}`, "/certificates/x"]) expect((await other.admin("PATCH", path, { body: { notes: "x" } })).status).toBe(404);
  });

  test("412 for a stale If-Match, before the owner is looked at, and nothing changes", async () => {
    const { patch, read } = await withCertificate();
    for (const tag of ['"2"', 'W/"1"', "nonsense"])
      expect(await patch({ ownerId: crypto.randomUUID() }, { "if-match": tag })).toMatchObject({ status: 412, body: {} });
    expect(await read()).toMatchObject({ ...EMPTY, version: 1 });
  });

  test("412 for all but one of many that race with the same If-Match", async () => {
    const { organization, id, patch, read } = await withCertificate();
    const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => patch({ labels: { winner: `${index}` } }, { "if-match": '"1"' })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([200, ...Array(7).fill(412)]);
    expect(await read()).toMatchObject({ labels: answers.find((each) => each.status === 200)?.body.labels, version: 2 });
    expect(await eventsOf(organization, id)).toHaveLength(1);
    const found = await Promise.all(Array.from({ length: 8 }, (_, index) => organization.member("GET", `/certificates?selector=winner%3D${index}`)));
    expect(found.flatMap((each) => each.body.items)).toHaveLength(1);
  });

  test("200 takes everything, trimmed, addresses in lower case and each once, and answers the certificate with its ETag", async () => {
    const { organization, patch, read } = await withCertificate();
    const owner = await organization.join("ORG_MEMBER");
    const before = await read();
    const contacts = ["PKI@People.Example", "ada@people.example", "pki@people.example"];
    const answer = await patch(
      { ownerId: owner.id.toUpperCase(), contacts, labels: { env: " prod ", team: "x".repeat(63) }, notes: " By hand.\nTwice. " },
      { "if-match": '"1"' },
    );
    const wanted = {
      ownerId: owner.id,
      contacts: ["pki@people.example", "ada@people.example"],
      labels: { env: "prod", team: "x".repeat(63) },
      notes: "By hand.\nTwice.",
      version: 2,
    };
    expect(answer).toMatchObject({ status: 200, body: wanted });
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(answer.body).toEqual({ ...before, ...wanted, updatedAt: expect.any(String) });
    expect(await read()).toEqual(answer.body);
  });

  test("200 takes as many as there may be: 20 contacts, 64 labels, 2,000 characters", async () => {
    const { patch } = await withCertificate();
    const most = { contacts: contactsOf(20), labels: labelsOf(64), notes: "ü".repeat(2_000) };
    expect(await patch(most)).toMatchObject({ status: 200, body: most });
  });

  test("200 keeps what is not named; null, an empty list and an empty object take away", async () => {
    const { organization, patch, read } = await withCertificate();
    const { id: ownerId } = await organization.join();
    const all = { ownerId, contacts: ["pki@people.example"], labels: { env: "prod", tier: "edge" }, notes: "By hand." };
    await patch(all);
    await patch({ labels: { env: "test" } });
    expect(await read()).toMatchObject({ ...all, labels: { env: "test" } });
    expect((await read()).labels).toEqual({ env: "test" });
    for (const [name, value] of Object.entries(EMPTY)) await patch({ [name]: value });
    expect(await read()).toMatchObject({ ...EMPTY, version: 7 });
  });

  test("200 leaves an audit event with what was and what is, of what changed alone", async () => {
    const { organization, id, patch } = await withCertificate();
    const { id: ownerId } = await organization.join();
    await patch({ contacts: ["pki@people.example"], notes: "By hand." });
    const answer = await patch({ ownerId, contacts: ["pki@people.example"], labels: { env: "prod" }, notes: null });
    const [event] = await eventsOf(organization, id);
    expect(event).toMatchObject({ targetType: "certificate", requestId: answer.headers.get("x-request-id") });
    expect(event.details).toEqual({
      changes: { ownerId: { from: null, to: ownerId }, labels: { from: {}, to: { env: "prod" } }, notes: { from: "By hand.", to: null } },
    });
  });

  test("200 with the same version and no audit event for what it says already", async () => {
    const { organization, id, patch, read } = await withCertificate();
    const { id: ownerId } = await organization.join();
    const all = { ownerId, contacts: ["pki@people.example"], labels: { env: "prod" }, notes: "By hand." };
    await patch(all);
    const before = await read();
    const answer = await patch({ ...all, contacts: ["PKI@people.example"], notes: "By hand. " }, { "if-match": '"2"' });
    expect(answer).toMatchObject({ status: 200, body: before });
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(await read()).toEqual(before);
    expect(await eventsOf(organization, id)).toHaveLength(1);
  });

  test("shows it in the list and the details too, also of one that is retired", async () => {
    const organization = await newOrganization();
    const { root, leaf } = chain();
    const [, id] = await importInto(organization, root.pem, leaf.pem);
    const owner = await organization.join();
    await organization.admin("DELETE", `/certificates/${id}`);
    const noted = { ownerId: owner.id, contacts: ["pki@people.example"], labels: { env: "prod" }, notes: "By hand." };
    expect((await organization.admin("PATCH", `/certificates/${id}`, { body: noted })).status).toBe(200);
    expect((await owner.call("GET", `/portal/organizations/${organization.id}/certificates/${id}`)).body).toMatchObject(noted);
    const { items } = (await organization.member("GET", "/certificates")).body;
    expect(items).toMatchObject([noted, EMPTY]);
  });
});

async function leave(organization: TestOrganization, userId: string) {
  const { items } = (await organization.admin("GET", "/members?limit=100")).body;
  const member = items.find((each: { userId: string }) => each.userId === userId);
  expect((await organization.admin("DELETE", `/members/${member.id}`)).status).toBe(204);
}
