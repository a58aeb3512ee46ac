import { afterAll, describe, expect, test } from "bun:test";
import { createInternalDriver } from "#modules/issuance/authorities/services/driver";
import { dns, newHierarchy } from "../../../support/pki/issuing";
import { newOpenssl, newRequest } from "../../../support/pki/openssl";
import { newOrganization } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const openssl = newOpenssl();
afterAll(openssl.remove);
const organization = await newOrganization();
const { issuing } = await newHierarchy(organization);
const driver = createInternalDriver(world.deps);
const never = new AbortController().signal;
const issuer = (config: object = {}) => ({
  organizationId: organization.id,
  id: crypto.randomUUID(),
  kind: "internal",
  name: "Ours",
  config: { authorityId: issuing.id, ...config },
  secrets: {},
  account: null,
});
const { csr } = await newRequest(openssl);
const orderOf = (wish: object = {}) => ({
  organizationId: organization.id,
  requestId: crypto.randomUUID(),
  issuerId: crypto.randomUUID(),
  names: dns("www.example.com"),
  profile: null,
  csr,
  replaces: null,
  hostProof: null,
  approvedTerms: null,
  progress: undefined,
  ...wish,
});

describe("an issuer of the kind internal", () => {
  test("passes its test, or says why not", async () => {
    expect(await driver.test(issuer(), never)).toEqual({ outcome: "ok", message: 'The authority "Issuing CA" issues.' });
    expect(await driver.test(issuer({ profile: "mail" }), never)).toMatchObject({
      outcome: "failed",
      message: 'The authority "Issuing CA" has no such profile.',
    });
    expect(await driver.test(issuer({ authorityId: crypto.randomUUID() }), never)).toEqual({ outcome: "failed", message: "Its authority is gone." });
  });

  test("issues in one step; asked again, by whatever server, the same", async () => {
    const order = orderOf();
    const first = await driver.take(issuer({ profile: "client" }), order, never);
    expect(first).toMatchObject({ to: "issued", chainPem: expect.stringMatching(/^-----BEGIN CERTIFICATE-----[\s\S]*-----BEGIN CERTIFICATE-----/) });
    expect(await driver.take(issuer({ profile: "client" }), order, never)).toEqual(first);
    await driver.end(issuer(), order, never);
  });

  test("fails for good with a sentence", async () => {
    expect(await driver.take(issuer(), orderOf({ profile: "mail" }), never)).toEqual({
      to: "failed",
      reason: 'The authority "Issuing CA" has no profile "mail".',
    });
  });
});
