import { describe, expect, test } from "bun:test";
import { certificate, importInto, inDays } from "../../../support/pki/certificates";
import { newOrganization, type TestOrganization } from "../../../support/server/people";
import { startServer, world } from "../../../support/server/world";
import { auditOf, change, control } from "./controls";

const { id, path } = control();
const FRAMEWORKS = "/ai-governance/frameworks";
const link = { title: "Oversight procedure", url: "https://wiki.certitude.example/oversight" };

/** A control that is implemented because of a certificate and an address. */
async function newControl() {
  const organization = await newOrganization();
  const [certificateId = ""] = await importInto(organization, certificate().pem);
  const entry = { title: "Signing certificate", certificateId };
  const { body } = await change(organization, path, { status: "implemented", evidence: [entry, link] });
  return { organization, certificateId, entry, changed: body };
}

async function read(organization: TestOrganization, url = world.url) {
  const get = async (query: string) => (await organization.member("GET", query, { url })).body;
  const [one, list, frameworks] = [await get(path), await get(`${FRAMEWORKS}/euaiact/controls`), await get(FRAMEWORKS)];
  const listed = list.items.find((each: { id: string }) => each.id === id);
  return { one, listed, framework: frameworks.items[0] };
}

/** Expects the same of the control wherever it shows. */
async function expectShown(organization: TestOrganization, certificateStatus: string, { url = world.url, version = 1 } = {}) {
  const { one, listed, framework } = await read(organization, url);
  const needsAttention = certificateStatus !== "active";
  for (const each of [one, listed]) {
    expect(each).toMatchObject({ status: "implemented", version, needsAttention });
    expect(each.evidence).toEqual([{ title: "Signing certificate", certificateId: expect.any(String), certificateStatus }, link]);
  }
  expect(framework).toMatchObject({ progress: { counts: { implemented: 1 } }, needsAttention: needsAttention ? 1 : 0 });
}

describe("a certificate that is evidence of a control", () => {
  test("200 shows as active in the answer to the change, in the control and in the list", async () => {
    const { organization, entry, changed } = await newControl();
    expect(changed).toMatchObject({ needsAttention: false, evidence: [{ ...entry, certificateStatus: "active" }, link] });
    await expectShown(organization, "active");
  });

  test("200 shows as revoked at once, and as active once reinstated; the stored control and its history stay", async () => {
    const { organization, certificateId, entry } = await newControl();
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: { reason: "certificateHold" } });
    await expectShown(organization, "revoked");
    const { one } = await read(organization);
    expect(one.history.items.map((each: { evidence: unknown }) => each.evidence)).toEqual([[entry, link]]);
    expect((await organization.admin("POST", `/certificates/${certificateId}/reinstate`)).status).toBe(200);
    await expectShown(organization, "active");
    expect((await auditOf(organization)).filter((each: { action: string }) => each.action === "control.changed")).toHaveLength(1);
  });

  test("200 shows as retired", async () => {
    const { organization, certificateId } = await newControl();
    await organization.admin("DELETE", `/certificates/${certificateId}`);
    await expectShown(organization, "retired");
  });

  test("200 shows as expired when its time has come, by the server's clock", async () => {
    const { organization } = await newControl();
    const later = startServer(world.config, world.database, () => inDays(91));
    await expectShown(organization, "expired", { url: later.url });
    await expectShown(organization, "active");
    await later.server.stop(true);
  });

  test("200 a change that changes nothing shows it too, and evidence that is replaced needs no attention", async () => {
    const { organization, certificateId, entry } = await newControl();
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: {} });
    const same = await change(organization, path, { status: "implemented", evidence: [entry, link] });
    expect(same).toMatchObject({ status: 200, body: { version: 1, needsAttention: true, evidence: [{ certificateStatus: "revoked" }, link] } });
    const noted = await change(organization, path, { status: "implemented", note: "We know." });
    expect(noted.body).toMatchObject({ version: 2, needsAttention: true, evidence: [{ certificateStatus: "revoked" }, link] });
    const [other] = await importInto(organization, certificate().pem);
    const replaced = await change(organization, path, { status: "implemented", evidence: [{ ...entry, certificateId: other }, link] });
    expect(replaced.body).toMatchObject({ version: 3, needsAttention: false });
    await expectShown(organization, "active", { version: 3 });
  });

  test("400 certificateStatus is no field of a caller's", async () => {
    const { organization, entry } = await newControl();
    const { body } = await change(organization, path, { status: "implemented", evidence: [{ ...entry, certificateStatus: "active" }] });
    expect(body.message).toBe("body.evidence.0.certificateStatus is not a known field.");
  });

  test("200 one that another organization revoked is no business of this one's", async () => {
    const [one, other] = [await newOrganization(), await newOrganization()];
    const { pem } = certificate();
    const [[ours = ""], [theirs]] = [await importInto(one, pem), await importInto(other, pem)];
    await change(one, path, { status: "implemented", evidence: [{ title: "Signing certificate", certificateId: ours }, link] });
    await other.admin("POST", `/certificates/${theirs}/revoke`, { body: {} });
    await expectShown(one, "active");
  });
});
