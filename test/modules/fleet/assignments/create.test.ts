import { describe, expect, test } from "bun:test";
import { certificate, chain, importInto } from "../../../support/pki/certificates";
import { anAssignment, importRoot, importWithKey, newAgent } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";

const TYPE = "linux_update_ca_certificates";
const NO_OPTION = "must be one plain name, without slashes and control characters, that does not begin with - or @.";

const withAgent = async () => {
  const organization = await newOrganization();
  const agent = await newAgent(organization);
  const certificateId = await importRoot(organization);
  const create = (body: object) => organization.admin("POST", agent.assignments, { body });
  return { organization, agent, certificateId, create };
};

describe("POST /organizations/{organizationId}/agents/{agentId}/assignments", () => {
  test("403 for an ORG_MEMBER, before the body is looked at", async () => {
    const { organization, agent } = await withAgent();
    expect((await organization.member("POST", agent.assignments, { body: {} })).status).toBe(403);
  });

  test.each([
    [{ applicationId: undefined }, "body.applicationId is required."],
    [{ applicationId: " " }, "body.applicationId must be text of 1 to 200 characters, without NUL."],
    [{ applicationId: "x".repeat(201) }, "body.applicationId must be text of 1 to 200 characters, without NUL."],
    [{ applicationId: 5 }, "body.applicationId must be text of 1 to 200 characters, without NUL."],
    [{ certificateId: undefined }, "body.certificateId is required."],
    [{ certificateId: 5 }, "body.certificateId must be text of 1 to 200 characters, without NUL."],
    [{ certificateId: "" }, "body.certificateId must be text of 1 to 200 characters, without NUL."],
    [{ trustStoreType: undefined }, "body.trustStoreType is required."],
    [{ trustStoreType: "floppy" }, "body.trustStoreType must be one of linux_update_ca_certificates, "],
    [
      { config: { alias: "a", trustStorePath: "certs/local" } },
      "body.config.trustStorePath must be an absolute path, such as /etc/ssl/example, or begin with ~/.",
    ],
    [{ materialType: "server" }, "body.materialType must be one of trust_anchor, intermediate_ca, server_certificate, client_certificate."],
    [{ materialType: "server_certificate" }, `body.materialType must be one of trust_anchor, intermediate_ca for ${TYPE}.`],
    [{ includePrivateKey: "yes" }, "body.includePrivateKey must be true or false."],
    [{ includePrivateKey: true }, "A trust anchor is public: body.includePrivateKey must be false where the materialType is trust_anchor."],
    [{ autoRenew: null }, "body.autoRenew must be true or false."],
    [{ enabled: 1 }, "body.enabled must be true or false."],
    [{ version: 1 }, "body.version is not a known field."],
    [{ config: [] }, "body.config must be an object."],
    [{ trustStoreType: "pem_files", config: {} }, "body.config.trustStorePath is required for pem_files without a preset: the directory of the files."],
    [{ trustStoreType: "pem_files", config: { preset: "telnetd" } }, "body.config.preset must be one of apache2, bind9, "],
    [{ trustStoreType: "pem_files", config: { preset: "postfix", verifyStartTls: "gopher" } }, "body.config.verifyStartTls must be one of none, smtp, "],
    [{ config: { path: "/x" } }, "body.config.path is not a known field."],
    [{ config: { alias: 5 } }, "body.config.alias must be text of 1 to 200 characters, without NUL."],
    [{ config: { alias: null } }, "body.config.alias must be text of 1 to 200 characters, without NUL."],
    [{ config: { reloadCommand: "reload" } }, "body.config.reloadCommand must be a list of 1 to 50 items."],
    [{ config: { reloadCommand: [] } }, "body.config.reloadCommand must be a list of 1 to 50 items."],
    [{ config: { reloadCommand: Array(200).fill("x") } }, "body.config.reloadCommand must be a list of 1 to 50 items."],
    [{ config: { autoRenew: "true" } }, "body.config.autoRenew must be true or false."],
    [{ config: { nodeFlags: ["--use-openssl-ca"] } }, `body.config.nodeFlags does not apply to ${TYPE}.`],
    [{ config: { keyFileName: "a.key" } }, `body.config.keyFileName does not apply to ${TYPE}.`],
    [{ trustStoreType: "java_cacerts" }, "body.config.alias is required for java_cacerts."],
    [{ trustStoreType: "java_cacerts", config: { alias: "-J-agentlib:jdwp=transport=dt_socket,server=y" } }, `body.config.alias ${NO_OPTION}`],
    [{ trustStoreType: "java_cacerts", config: { alias: "@/etc/passwd" } }, `body.config.alias ${NO_OPTION}`],
    [{ config: { alias: "*" } }, "body.config.alias must be one plain name of the letters A to Z, digits and . _ + -, that begins with a letter or a digit."],
    [
      { trustStoreType: "git_http_sslcainfo", config: { dbUser: "ada" } },
      "body.config.dbUser does not apply to git_http_sslcainfo. git is configured for the account that the agent runs as: run an agent as the other account, and assign it to that one.",
    ],
    [{ trustStoreType: "iis_binding", materialType: "server_certificate" }, "body.config.verifyEndpoint is required for iis_binding."],
  ])("400 for %j", async (change, message) => {
    const { certificateId, create } = await withAgent();
    const { status, body } = await create({ ...anAssignment(certificateId), ...change });
    expect({ status, message: body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  });

  test("400 for an agent's id that is no UUID", async () => {
    const { organization, certificateId } = await withAgent();
    expect((await organization.admin("POST", "/agents/x/assignments", { body: anAssignment(certificateId) })).status).toBe(400);
  });

  test("400 for a trust anchor that is no CA", async () => {
    const { organization, create } = await withAgent();
    const { root, intermediate, leaf } = chain();
    const [, issuing = "", leafId = ""] = await importInto(organization, root.pem, intermediate.pem, leaf.pem);
    expect(await create(anAssignment(leafId))).toMatchObject({ status: 400, body: { message: expect.stringContaining("must name a CA certificate") } });
    expect((await create(anAssignment(leafId, { materialType: "intermediate_ca" }))).status).toBe(400);
    expect((await create(anAssignment(issuing, { materialType: "intermediate_ca" }))).status).toBe(201);
  });

  test("400 for a private key that is not stored", async () => {
    const { create, certificateId } = await withAgent();
    const server = { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config: { trustStorePath: "/etc/nginx/tls" } };
    expect(await create(anAssignment(certificateId, server))).toMatchObject({ status: 400, body: { message: expect.stringContaining("is not stored here") } });
  });

  test("400 for a revoked or retired certificate", async () => {
    const { organization, create, certificateId } = await withAgent();
    const retired = await importRoot(organization);
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: {} });
    await organization.admin("DELETE", `/certificates/${retired}`);
    for (const id of [certificateId, retired])
      expect(await create(anAssignment(id))).toMatchObject({ status: 400, body: { message: expect.stringContaining("neither revoked nor retired") } });
  });

  test("404 for what is not here or another organization's", async () => {
    const [mine, other] = [await withAgent(), await withAgent()];
    const noAgent = { status: 404, body: { message: "There is no such agent in this organization." } };
    const noCertificate = { status: 404, body: { message: "There is no such certificate in this organization." } };
    for (const id of [other.certificateId, crypto.randomUUID(), "nonsense"]) expect(await mine.create(anAssignment(id))).toMatchObject(noCertificate);
    for (const id of [other.agent.id, crypto.randomUUID()])
      expect(await mine.organization.admin("POST", `/agents/${id}/assignments`, { body: anAssignment(mine.certificateId) })).toMatchObject(noAgent);
  });

  test("409 for the same certificate in the same place, however else it differs", async () => {
    const { create, certificateId } = await withAgent();
    await create(anAssignment(certificateId, { config: { alias: "root" } }));
    const again = anAssignment(certificateId, {
      applicationId: "other",
      enabled: false,
      config: { alias: "root", trustStorePath: "/usr/local/share/ca-certificates" },
    });
    expect(await create(again)).toMatchObject({ status: 409, body: {} });
    expect((await create(anAssignment(certificateId))).status).toBe(201);
    expect((await create(anAssignment(certificateId, { config: { alias: "root", trustStorePath: "/opt/ca" } }))).status).toBe(201);
    expect((await create(anAssignment(certificateId, { trustStoreType: "openssl_ca_dir", config: { alias: "root" } }))).status).toBe(201);
  });

  test.each([
    [201, "two presets", { preset: "postfix" }, { preset: "dovecot" }],
    [409, "one preset twice", { preset: "postfix" }, { preset: "postfix", fileGroup: "mail" }],
    [409, "a preset, and the directory that it has", { preset: "postfix" }, { trustStorePath: "/etc/postfix/tls" }],
    [409, "a preset, and the file that it has", { preset: "dovecot", certFileName: "tls.crt" }, { trustStorePath: "/etc/dovecot/private" }],
    [201, "a preset, and other files in its directory", { preset: "postfix" }, { trustStorePath: "/etc/postfix/tls", certFileName: "smtp.crt" }],
    [201, "a preset, and the same in another directory", { preset: "postfix" }, { preset: "postfix", trustStorePath: "/srv/tls" }],
    [201, "presets of other files in one directory", { preset: "postfix", trustStorePath: "/srv/tls" }, { preset: "dovecot", trustStorePath: "/srv/tls" }],
    [409, "presets of the same files in one directory", { preset: "postfix", trustStorePath: "/srv/tls" }, { preset: "squid", trustStorePath: "/srv/tls" }],
  ])("%d for the same certificate in PEM files of %s", async (status, _, one, other) => {
    const { organization, create } = await withAgent();
    const { id } = await importWithKey(organization);
    const files = (config: object) => anAssignment(id, { trustStoreType: "pem_files", materialType: "server_certificate", config });
    expect((await create(files(one))).status).toBe(201);
    expect((await create(files(other))).status).toBe(status);
  });

  test("409 for an anchor in the same bundle, whichever preset's server reads it, 201 in another", async () => {
    const { certificateId, create } = await withAgent();
    const bundle = (config: object) => anAssignment(certificateId, { trustStoreType: "pem_files", materialType: "trust_anchor", config });
    expect((await create(bundle({ preset: "postfix", trustStorePath: "/srv/tls" }))).status).toBe(201);
    expect((await create(bundle({ preset: "dovecot", trustStorePath: "/srv/tls" }))).status).toBe(409);
    expect((await create(bundle({ preset: "dovecot", trustStorePath: "/srv/tls", caFileName: "clients.pem" }))).status).toBe(201);
    expect((await create(bundle({ preset: "dovecot" }))).status).toBe(201);
  });

  test("201 with every field, the store's defaults, ETag, Location and an audit event", async () => {
    const { organization, agent, create } = await withAgent();
    const certificateId = await importRoot(organization, "Example Root");
    const config = { alias: "example-root", verifyEndpoint: "https://www.example.org:8443" };
    const answer = await create({ applicationId: " payments ", certificateId, trustStoreType: TYPE, config });
    const { id } = answer.body;
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 201,
      body: {
        id: expect.any(String),
        organizationId: organization.id,
        agentId: agent.id,
        applicationId: "payments",
        certificateId,
        trustStoreType: TYPE,
        materialType: "trust_anchor",
        includePrivateKey: false,
        keyOnHost: false,
        policyId: null,
        config: { trustStorePath: "/usr/local/share/ca-certificates", ...config },
        version: 1,
        etag: '"1"',
        autoRenew: true,
        enabled: true,
        commonName: "Example Root",
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    });
    expect(answer.headers.get("etag")).toBe(answer.body.etag);
    expect(answer.headers.get("location")).toBe(`/organizations/${organization.id}${agent.assignments}/${id}`);
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "assignment.created", targetType: "assignment", targetId: id, details: { agentId: agent.id, certificateId } });
    expect(event.requestId).toBe(answer.headers.get("x-request-id"));
  });

  test("201 with a private key that is stored", async () => {
    const { organization, create } = await withAgent();
    const { id } = await importWithKey(organization);
    const config = { trustStorePath: "/etc/nginx/tls", reloadCommand: ["systemctl", "reload", "nginx"], storePasswordRef: "vault:tls/nginx#password" };
    const answer = await create(anAssignment(id, { trustStoreType: "nginx_tls", materialType: "server_certificate", includePrivateKey: true, config }));
    expect(answer).toMatchObject({
      status: 201,
      body: { includePrivateKey: true, config: { certFileName: "tls.crt", keyFileName: "tls.key", keyPermissionMode: "0600", ...config } },
    });
  });

  test("201 without a materialType: a server's own certificate where the store is a server's, else an anchor", async () => {
    const { organization, create, certificateId } = await withAgent();
    const { id } = await importWithKey(organization);
    const nginx = await create(anAssignment(id, { trustStoreType: "nginx_tls", config: { trustStorePath: "/etc/nginx/tls" } }));
    expect(nginx).toMatchObject({ status: 201, body: { materialType: "server_certificate" } });
    expect(await create(anAssignment(certificateId))).toMatchObject({ status: 201, body: { materialType: "trust_anchor" } });
  });

  test("201 for a self-signed certificate as trust anchor", async () => {
    const { organization, create } = await withAgent();
    const [id = ""] = await importInto(organization, certificate().pem);
    expect((await create(anAssignment(id))).status).toBe(201);
  });

  test("201 for one of fifty at once, 409 for the others, and one audit event", async () => {
    const { organization, create, certificateId } = await withAgent();
    const answers = await Promise.all(Array.from({ length: 50 }, () => create(anAssignment(certificateId))));
    const statuses = answers.map((each) => each.status).toSorted();
    expect(statuses).toEqual([201, ...Array.from({ length: 49 }, () => 409)]);
    const { items } = (await organization.admin("GET", "/audit-events?limit=100")).body;
    expect(items.filter((each: { action: string }) => each.action === "assignment.created")).toHaveLength(1);
  });
});
