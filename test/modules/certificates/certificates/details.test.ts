import { describe, expect, test } from "bun:test";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { call } from "../../../support/server/call";
import { newOrganization, newUser } from "../../../support/server/people";
import { world } from "../../../support/server/world";

const path = (organizationId: string, certificateId: string) => `/portal/organizations/${organizationId}/certificates/${certificateId}`;

describe("GET /portal/organizations/{organizationId}/certificates/{certificateId}", () => {
  test("401 for a stranger, whether or not it exists", async () => {
    const organization = await newOrganization();
    const [id = ""] = await importInto(organization, certificate().pem);
    expect(await call("GET", path(organization.id, id))).toMatchObject({ status: 401, body: "" });
    expect(await call("GET", path("nonsense", "nonsense"))).toMatchObject({ status: 401, body: "" });
  });

  test("401 for organization headers alone, also from a trusted gateway", async () => {
    const organization = await newOrganization();
    const [id = ""] = await importInto(organization, certificate().pem);
    expect((await call("GET", path(organization.id, id), { headers: organization.headers("ORG_ADMIN") })).status).toBe(401);
  });

  test("404 for a user who is no member, the same as for what does not exist", async () => {
    const organization = await newOrganization();
    const [id = ""] = await importInto(organization, certificate().pem);
    const [stranger, member] = [await newUser(), await organization.join()];
    const missing = await member.call("GET", path(organization.id, crypto.randomUUID()));
    expect(missing.status).toBe(404);
    expect(await stranger.call("GET", path(organization.id, id))).toMatchObject({ status: 404, body: missing.body });
    expect(await stranger.call("GET", path(crypto.randomUUID(), id))).toMatchObject({ status: 404, body: missing.body });
  });

  test("404 for a certificate of another organization of the same user", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    const [id = ""] = await importInto(other, certificate().pem);
    const user = await mine.join();
    expect((await user.call("GET", path(mine.id, id))).status).toBe(404);
  });

  test.each(["x", "'", "%00", "0193b3c0-0000-7000-8000-00000000000g", "a".repeat(3_000)])("404 for the id %s", async (id) => {
    const organization = await newOrganization();
    const user = await organization.join();
    expect((await user.call("GET", path(organization.id, id))).status).toBe(404);
  });

  test("200 for any member: the certificate, its chain up to the root, its days", async () => {
    const organization = await newOrganization();
    const { leaf, intermediate, root } = chain();
    const [leafId = "", intermediateId, rootId] = await importInto(organization, leaf.pem, intermediate.pem, root.pem);
    const member = await organization.join("ORG_MEMBER");
    const { status, body } = await member.call("GET", path(organization.id, leafId));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      id: leafId,
      organizationId: organization.id,
      pem: leaf.pem,
      daysRemaining: 29,
      status: "active",
      deployments: [],
      hasPrivateKey: false,
    });
    expect(body.chain).toMatchObject([
      { id: intermediateId, commonName: "Test Issuing CA", isCa: true, selfSigned: false, pem: intermediate.pem },
      { id: rootId, commonName: "Test Root", isCa: true, selfSigned: true, pem: root.pem },
    ]);
  });

  test("200 says 0 days and expired after the end", async () => {
    const organization = await newOrganization();
    const [id = ""] = await importInto(organization, certificate({ days: -3, from: -9 }).pem);
    const member = await organization.join();
    expect((await member.call("GET", path(organization.id, id))).body).toMatchObject({ status: "expired", daysRemaining: 0 });
  });

  test("200 shows where it is deployed and what the agent last said", async () => {
    const organization = await newOrganization();
    const [id = ""] = await importInto(organization, certificate({ isCa: true }).pem);
    const [agentId, assignmentId] = [Bun.randomUUIDv7(), Bun.randomUUIDv7()];
    await world.sql`insert into agents (organization_id, id, name, token_hash) values (${organization.id}, ${agentId}, 'web-1', decode(${agentId.replaceAll("-", "")}, 'hex'))`;
    await world.sql`
      insert into assignments (organization_id, id, agent_id, certificate_id, application_id, trust_store_type, material_type, include_private_key, config, target,
        auto_renew, enabled, reported_state, reported_fingerprint, reported_at)
      values (${organization.id}, ${assignmentId}, ${agentId}, ${id}, 'shop', 'linux_update_ca_certificates', 'trust_anchor', false, '{}', '', true, true,
        'installed', 'abc', '2026-01-02T03:04:05Z')`;
    const member = await organization.join();
    expect((await member.call("GET", path(organization.id, id))).body.deployments).toEqual([
      {
        assignmentId,
        agentId,
        agentName: "web-1",
        applicationId: "shop",
        trustStoreType: "linux_update_ca_certificates",
        enabled: true,
        state: "installed",
        observedFingerprint: "abc",
        message: null,
        reportedAt: "2026-01-02T03:04:05.000Z",
        observedAt: null,
        history: [],
      },
    ]);
  });
});
