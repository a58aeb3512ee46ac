import { describe, expect, test } from "bun:test";
import { generateKeyPairSync, X509Certificate } from "node:crypto";
import { rootCertificates } from "node:tls";
import { keyContext } from "#modules/certificates/certificates/rules/key-context";
import { MAX_BLOCKS } from "#modules/certificates/certificates/schema/certificates";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { newOrganization } from "../../../support/server/people";
import { readTag } from "../../../support/server/tags";
import { world } from "../../../support/server/world";
import { newPoller } from "../../fleet/agent-protocol/pollers";

const keyPem = (minted: { privateKey: import("node:crypto").KeyObject }) => minted.privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const block = (label: string, bytes: Uint8Array) => `-----BEGIN ${label}-----\n${Buffer.from(bytes).toString("base64")}\n-----END ${label}-----\n`;
const der = (pem: string) => new Uint8Array(new X509Certificate(pem).raw);

describe("POST /organizations/{organizationId}/certificates", () => {
  test("403 for an ORG_MEMBER", async () => {
    const organization = await newOrganization();
    expect((await organization.member("POST", "/certificates", { body: { pem: certificate().pem } })).status).toBe(403);
  });

  test.each([
    [{}, "body.pem is required."],
    [{ pem: 5 }, "body.pem must be text of 1 to 8388608 characters, without NUL."],
    [{ pem: "hello" }, "body.pem holds no PEM block (-----BEGIN CERTIFICATE-----)."],
    [{ pem: "x", chain: true }, "body.chain is not a known field."],
    [{ pem: "-----BEGIN CERTIFICATE-----\nMIIB\n" }, "body.pem, block 0: It cannot be read: its line -----END CERTIFICATE----- is missing."],
    [{ pem: "-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----" }, "body.pem, block 0: It cannot be read: what stands inside is not base64."],
    [
      { pem: "-----BEGIN CERTIFICATE-----\nAAAA\n\nAAAA\n-----END CERTIFICATE-----" },
      "body.pem, block 0: It cannot be read: what stands inside is not base64.",
    ],
    [
      { pem: block("CERTIFICATE", new Uint8Array([0x30, 0x03, 0x02, 0x01, 0x05])) },
      "body.pem, block 0: It is not a certificate: it is not one that X.509 allows.",
    ],
    [{ pem: block("CERTIFICATE REQUEST", new Uint8Array([0x30, 0])) }, "body.pem, block 0: It is a CERTIFICATE REQUEST, not a CERTIFICATE."],
    [
      { pem: block("PRIVATE KEY", new Uint8Array([0x30, 0])) },
      "body.pem, block 0: It is a private key. Send it as body.privateKeyPem, next to its certificate.",
    ],
  ])("400 for %j", async (body, message) => {
    const organization = await newOrganization();
    expect(await organization.admin("POST", "/certificates", { body })).toMatchObject({ status: 400, body: { message } });
  });

  test("400 for a truncated certificate and for one with bytes behind its end", async () => {
    const organization = await newOrganization();
    const bytes = der(certificate().pem);
    for (const broken of [bytes.slice(0, -1), bytes.slice(0, bytes.length / 2), new Uint8Array([...bytes, 0]), bytes.slice(1)])
      expect((await organization.admin("POST", "/certificates", { body: { pem: block("CERTIFICATE", broken) } })).status).toBe(400);
    expect((await organization.admin("GET", "/certificates")).body.items).toEqual([]);
  });

  test("400 for a certificate with any single byte changed, or an import of just that", async () => {
    const organization = await newOrganization();
    const bytes = der(certificate().pem);
    const variants = Array.from(bytes, (byte, index) => bytes.with(index, byte ^ (1 + (index % 255))));
    const { status, body } = await organization.admin("POST", "/certificates", { body: { pem: variants.map((each) => block("CERTIFICATE", each)).join("") } });
    expect([200, 201, 400]).toContain(status);
    if (status !== 400) expect(body.imported.length + body.duplicates.length + body.refused.length).toBe(variants.length);
  });

  test("400 for more blocks than one request may hold, of whatever kind, and nothing is stored", async () => {
    const organization = await newOrganization();
    const { pem } = certificate();
    for (const one of [pem, block("CERTIFICATE", new Uint8Array([0x30, 0])), "-----BEGIN A-----\n"])
      expect(await organization.admin("POST", "/certificates", { body: { pem: pem + one.repeat(MAX_BLOCKS) } })).toMatchObject({
        status: 400,
        body: { message: "body.pem holds more than 2000 PEM blocks. Send them in several requests." },
      });
    expect((await organization.admin("GET", "/certificates")).body.items).toEqual([]);
    const { status, body } = await organization.admin("POST", "/certificates", { body: { pem: pem.repeat(MAX_BLOCKS) } });
    expect([status, body.imported.length, body.duplicates.length]).toEqual([201, 1, MAX_BLOCKS - 1]);
  });

  test("400 for one block that is larger than any certificate", async () => {
    const organization = await newOrganization();
    const pem = block("CERTIFICATE", new Uint8Array(400 * 1024));
    expect(await organization.admin("POST", "/certificates", { body: { pem } })).toMatchObject({
      status: 400,
      body: { message: "body.pem, block 0: It cannot be read: it is larger than 512 KiB." },
    });
  });

  test("400 for a private key that is not one, is encrypted, or fits no certificate, and nothing is stored", async () => {
    const organization = await newOrganization();
    const { pem } = certificate();
    const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const encrypted = privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" }) as string;
    const unreadable = { message: "body.privateKeyPem is not an unencrypted private key in PEM." };
    expect(await organization.admin("POST", "/certificates", { body: { pem, privateKeyPem: "nonsense" } })).toMatchObject({ status: 400, body: unreadable });
    expect(await organization.admin("POST", "/certificates", { body: { pem, privateKeyPem: encrypted } })).toMatchObject({ status: 400, body: unreadable });
    expect(await organization.admin("POST", "/certificates", { body: { pem, privateKeyPem: keyPem({ privateKey }) } })).toMatchObject({
      status: 400,
      body: { message: "body.privateKeyPem is not the private key of any certificate in body.pem." },
    });
    expect((await organization.admin("GET", "/certificates")).body.items).toEqual([]);
  });

  test("201 for every root of Mozilla's that Bun carries, 200 when they all come again", async () => {
    const organization = await newOrganization();
    const pem = rootCertificates.join("\n");
    const first = await organization.admin("POST", "/certificates", { body: { pem } });
    expect(first).toMatchObject({ status: 201, body: { duplicates: [], refused: [] } });
    expect(first.body.imported).toHaveLength(rootCertificates.length);
    const again = await organization.admin("POST", "/certificates", { body: { pem } });
    expect(again).toMatchObject({ status: 200, body: { imported: [], refused: [] } });
    expect(again.body.duplicates.map((each: { id: string }) => each.id)).toEqual(first.body.imported.map((each: { id: string }) => each.id));
  });

  test("201 names a bad block by its index and imports the others, a repeated one once", async () => {
    const organization = await newOrganization();
    const [a, b] = [certificate(), certificate()];
    const pem = `A comment.\n${a.pem}${block("CERTIFICATE", new Uint8Array([1, 2, 3]))}some text\n${a.pem}\r\n${b.pem.replaceAll("\n", "\r\n")}`;
    const { status, body } = await organization.admin("POST", "/certificates", { body: { pem } });
    expect(status).toBe(201);
    expect(body.imported.map((each: { index: number }) => each.index)).toEqual([0, 3]);
    expect(body.duplicates).toMatchObject([{ index: 2, id: body.imported[0].id }]);
    expect(body.refused).toEqual([{ index: 1, message: "It is not a certificate: it ends too early." }]);
  });

  test("201 seals the private key: it is never returned and opens for this certificate alone", async () => {
    const organization = await newOrganization();
    const minted = certificate();
    const privateKeyPem = keyPem(minted);
    const { body } = await organization.admin("POST", "/certificates", { body: { pem: minted.pem, privateKeyPem } });
    const [{ id, fingerprintSha256 }] = body.imported;
    const read = await organization.admin("GET", `/certificates/${id}`);
    expect(read.body.hasPrivateKey).toBe(true);
    expect(read.text).not.toContain("PRIVATE KEY");
    const [row] = await world.sql`select sealed_private_key as sealed from certificates where organization_id = ${organization.id} and id = ${id}`;
    expect(Buffer.from(row?.sealed).toString("latin1")).not.toContain("PRIVATE KEY");
    expect(world.config.keyring.unseal(row?.sealed, keyContext(organization.id, fingerprintSha256))).toBe(privateKeyPem.trim());
    expect(() => world.config.keyring.unseal(row?.sealed, keyContext(crypto.randomUUID(), fingerprintSha256))).toThrow();
  });

  test("200 adds a private key to a certificate that came before without one", async () => {
    const organization = await newOrganization();
    const minted = certificate();
    const [id] = await importInto(organization, minted.pem);
    const { status, body } = await organization.admin("POST", "/certificates", { body: { pem: minted.pem, privateKeyPem: keyPem(minted) } });
    expect({ status, duplicates: body.duplicates }).toMatchObject({ status: 200, duplicates: [{ id }] });
    expect((await organization.admin("GET", `/certificates/${id}`)).body).toMatchObject({ hasPrivateKey: true, version: 2 });
  });

  test("201 links a chain, also when its parts come one by one and the leaf first", async () => {
    const organization = await newOrganization();
    const { leaf, intermediate, root } = chain();
    const [leafId] = await importInto(organization, leaf.pem);
    const [rootId] = await importInto(organization, root.pem);
    const [intermediateId] = await importInto(organization, intermediate.pem);
    const issuerOf = async (id: string | undefined) => (await organization.admin("GET", `/certificates/${id}`)).body.issuerCertificateId;
    expect(await issuerOf(leafId)).toBe(intermediateId);
    expect(await issuerOf(intermediateId)).toBe(rootId);
    expect(await issuerOf(rootId)).toBeNull();
  });

  test("201 does not link a certificate to one of the issuer's name that did not sign it", async () => {
    const organization = await newOrganization();
    const impostor = certificate({ commonName: "Test Issuing CA", isCa: true });
    const { leaf } = chain();
    const [, leafId] = await importInto(organization, impostor.pem, leaf.pem);
    expect((await organization.admin("GET", `/certificates/${leafId}`)).body.issuerCertificateId).toBeNull();
  });

  test("200 makes a retired certificate active again: new version and ETag, an audit event, its deployments", async () => {
    const { organization, assign, ask } = await newPoller();
    const minted = certificate({ isCa: true });
    const [id] = await importInto(organization, minted.pem);
    await assign(id ?? "");
    await organization.admin("DELETE", `/certificates/${id}`);
    const without = await ask();
    expect(without.body.items).toEqual([]);
    const answer = await organization.admin("POST", "/certificates", { body: { pem: minted.pem + minted.pem } });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        imported: [],
        duplicates: [
          { index: 0, id, reactivated: true },
          { index: 1, id, reactivated: false },
        ],
      },
    });
    const read = await organization.admin("GET", `/certificates/${id}`);
    expect([read.body, read.headers.get("etag")]).toMatchObject([{ status: "active", retiredAt: null, version: 3 }, readTag(3)]);
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "certificate.reactivated", targetId: id, requestId: answer.headers.get("x-request-id") });
    expect(await ask(without.headers.get("etag") ?? "")).toMatchObject({ status: 200, body: { items: [{ certificateId: id }] } });
    const { items } = (await organization.member("GET", "/certs/monitoring/top-expiring")).body;
    expect(items.map((each: { certificateId: string }) => each.certificateId)).toEqual([id]);
    const again = await organization.admin("POST", "/certificates", { body: { pem: minted.pem } });
    expect(again.body.duplicates).toMatchObject([{ id, reactivated: false }]);
    expect((await organization.admin("GET", `/certificates/${id}`)).body).toEqual(read.body);
  });

  test("200 reactivates once for ten at once, and gives the private key that comes with it", async () => {
    const organization = await newOrganization();
    const minted = certificate();
    const [id] = await importInto(organization, minted.pem);
    await organization.admin("DELETE", `/certificates/${id}`);
    const body = { pem: minted.pem, privateKeyPem: keyPem(minted) };
    const answers = await Promise.all(Array.from({ length: 10 }, () => organization.admin("POST", "/certificates", { body })));
    expect(answers.filter((each) => each.body.duplicates[0].reactivated)).toHaveLength(1);
    expect((await organization.admin("GET", `/certificates/${id}`)).body).toMatchObject({ status: "active", hasPrivateKey: true, version: 3 });
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    for (const action of ["certificate.reactivated", "certificate.key-added"])
      expect(items.filter((each: { action: string }) => each.action === action)).toHaveLength(1);
  });

  test("200 leaves a certificate revoked, also one that was retired after it was revoked", async () => {
    for (const isRetired of [false, true]) {
      const organization = await newOrganization();
      const { pem } = certificate();
      const [id] = await importInto(organization, pem);
      await organization.admin("POST", `/certificates/${id}/revoke`, { body: { reason: "keyCompromise" } });
      if (isRetired) await organization.admin("DELETE", `/certificates/${id}`);
      const before = (await organization.admin("GET", `/certificates/${id}`)).body;
      const { status, body } = await organization.admin("POST", "/certificates", { body: { pem } });
      expect({ status, duplicates: body.duplicates }).toMatchObject({ status: 200, duplicates: [{ id, reactivated: false }] });
      expect((await organization.admin("GET", `/certificates/${id}`)).body).toEqual(before);
    }
  });

  test("201 once for the same certificate imported by ten at once", async () => {
    const organization = await newOrganization();
    const { pem } = certificate();
    const answers = await Promise.all(Array.from({ length: 10 }, () => organization.admin("POST", "/certificates", { body: { pem } })));
    expect(answers.map((each) => each.status).toSorted()).toEqual([...Array(9).fill(200), 201]);
    expect((await organization.admin("GET", "/certificates")).body.items).toHaveLength(1);
  });

  test("201 leaves one audit event per imported certificate, in the same transaction", async () => {
    const organization = await newOrganization();
    const ids = await importInto(organization, certificate().pem, certificate().pem);
    const { items } = (await organization.admin("GET", "/audit-events")).body;
    const imported = items.filter((each: { action: string }) => each.action === "certificate.imported");
    expect(imported.map((each: { targetId: string }) => each.targetId).toSorted()).toEqual(ids.toSorted());
    expect(imported[0]).toMatchObject({ targetType: "certificate", actor: { type: "gateway", role: "ORG_ADMIN" } });
  });
});
