import { describe, expect, test } from "bun:test";
import { certificate, importInto } from "../../../support/pki/certificates";
import { anAssignment, importRoot, importWithKey, newAgent, withAssignment } from "../../../support/server/agents";
import { newOrganization } from "../../../support/server/people";

const serverConfig = {
  trustStoreType: "nginx_tls",
  materialType: "server_certificate",
  config: { trustStorePath: "/etc/nginx/tls", keyPermissionMode: "0640" },
};

describe("PATCH /organizations/{organizationId}/agents/{agentId}/assignments/{assignmentId}", () => {
  test("403 for an ORG_MEMBER", async () => {
    const { organization, path } = await withAssignment();
    expect((await organization.member("PATCH", path, { body: { enabled: false } })).status).toBe(403);
  });

  test.each([
    [{ applicationId: "" }, "body.applicationId must be text of 1 to 200 characters, without NUL."],
    [{ applicationId: null }, "body.applicationId must be text of 1 to 200 characters, without NUL."],
    [{ certificateId: 7 }, "body.certificateId must be text of 1 to 200 characters, without NUL."],
    [{ trustStoreType: "linux_update_ca_certificates" }, "body.trustStoreType is not a known field."],
    [{ materialType: "root" }, "body.materialType must be one of "],
    [{ materialType: "client_certificate" }, "body.materialType must be one of trust_anchor, intermediate_ca for linux_update_ca_certificates."],
    [{ includePrivateKey: true }, "A trust anchor is public: body.includePrivateKey must be false"],
    [
      { materialType: "intermediate_ca", includePrivateKey: true },
      "body.includePrivateKey must be false: the private key of this certificate is not stored here.",
    ],
    [{ certificateId: crypto.randomUUID(), config: { nodeFlags: ["-x"] } }, "body.config.nodeFlags does not apply to linux_update_ca_certificates."],
    [{ includePrivateKey: "x" }, "body.includePrivateKey must be true or false."],
    [{ autoRenew: "x" }, "body.autoRenew must be true or false."],
    [{ enabled: null }, "body.enabled must be true or false."],
    [{ version: "1" }, "body.version must be a whole number from 1 to 2147483647."],
    [{ version: 0 }, "body.version must be a whole number from 1 to 2147483647."],
    [{ version: 2 ** 31 }, "body.version must be a whole number from 1 to 2147483647."],
    [{ etag: 1 }, "body.etag must be text of 1 to 200 characters, without NUL."],
    [{ etag: "\0" }, "body.etag must be text of 1 to 200 characters, without NUL."],
    [{ config: null }, "body.config must be an object."],
    [{ config: { gatewayMode: true } }, "body.config.gatewayMode does not apply to linux_update_ca_certificates."],
    [{ config: { gatewayMode: null } }, "body.config.gatewayMode does not apply to linux_update_ca_certificates."],
    [{ config: { alias: 1 } }, "body.config.alias must be text of 1 to 200 characters, without NUL."],
    [{ config: { trustStorePath: "anchors" } }, "body.config.trustStorePath must be an absolute path, such as /etc/ssl/example, or begin with ~/."],
    [{ config: { alias: "../x" } }, "body.config.alias must be one plain name"],
    [{ config: { alias: "-J-Xlog:all" } }, "body.config.alias must be one plain name"],
    [{ config: { reloadCommand: ["tr\nue"] } }, "body.config.reloadCommand must be a program and its arguments, without control characters."],
    [{ config: { nothing: null } }, "body.config.nothing is not a known field."],
  ])("400 for %j, and nothing changes", async (body, message) => {
    const { created, update, read } = await withAssignment();
    const answer = await update(body);
    expect({ status: answer.status, message: answer.body.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
    expect(await read()).toEqual(created);
  });

  test("400 for removing what the store cannot do without", async () => {
    const { update, created, read } = await withAssignment({ trustStoreType: "java_cacerts", config: { alias: "root" } });
    const message = "body.config.alias is required for java_cacerts and cannot be removed.";
    expect(await update({ config: { alias: null } })).toMatchObject({ status: 400, body: { message } });
    expect(await read()).toEqual(created);
  });

  test("400 for removing both a preset and the path, or the only one of them, of PEM files; one may take the other's place", async () => {
    const organization = await newOrganization();
    const agent = await newAgent(organization);
    const certificateId = await importRoot(organization);
    const create = async (config: object) =>
      String((await organization.admin("POST", agent.assignments, { body: anAssignment(certificateId, { trustStoreType: "pem_files", config }) })).body.id);
    const update = (id: string, config: object) => organization.admin("PATCH", `${agent.assignments}/${id}`, { body: { config } });
    const message = "body.config.trustStorePath is required for pem_files without a preset: the directory of the files.";
    const [both, path, preset] = [
      await create({ preset: "postfix", trustStorePath: "/etc/a" }),
      await create({ trustStorePath: "/etc/b" }),
      await create({ preset: "squid", alias: "proxy" }),
    ];
    for (const [id, config] of [
      [both, { preset: null, trustStorePath: null }],
      [path, { trustStorePath: null }],
      [path, { trustStorePath: null, caFileName: "ca.pem" }],
      [preset, { preset: null }],
    ] as const)
      expect([id, await update(id, config)]).toMatchObject([id, { status: 400, body: { message } }]);
    expect(await update(path, { trustStorePath: null, preset: "dovecot" })).toMatchObject({ status: 200, body: { config: { preset: "dovecot" } } });
    expect(await update(both, { preset: null })).toMatchObject({ status: 200, body: { config: { trustStorePath: "/etc/a" } } });
    expect(await update(preset, { caFileName: "ca.pem" })).toMatchObject({ status: 200, body: { version: 2 } });
  });

  test("400 for a private key where the certificate becomes a trust anchor", async () => {
    const { organization, agent } = await withAssignment();
    const { id } = await importWithKey(organization);
    const { body } = await organization.admin("POST", agent.assignments, { body: anAssignment(id, { ...serverConfig, includePrivateKey: true }) });
    const answer = await organization.admin("PATCH", `${agent.assignments}/${body.id}`, { body: { materialType: "trust_anchor" } });
    expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining("A trust anchor is public") } });
  });

  test("400 for another certificate that cannot be a trust anchor, is revoked or retired", async () => {
    const { organization, update } = await withAssignment();
    const ca = certificate({ isCa: true });
    const [, leaf = "", revoked = ""] = await importInto(organization, ca.pem, certificate({ issuer: ca }).pem, certificate({ isCa: true }).pem);
    await organization.admin("POST", `/certificates/${revoked}/revoke`, { body: {} });
    expect(await update({ certificateId: leaf })).toMatchObject({ status: 400, body: { message: expect.stringContaining("must name a CA certificate") } });
    expect(await update({ certificateId: revoked })).toMatchObject({ status: 400, body: { message: expect.stringContaining("neither revoked nor retired") } });
  });

  test("404 for what is not here, or another agent's or organization's", async () => {
    const [mine, other] = [await withAssignment(), await withAssignment()];
    const second = await newAgent(mine.organization);
    const body = { enabled: false };
    for (const path of [`${mine.agent.assignments}/nonsense`, `${second.assignments}/${mine.created.id}`, other.path])
      expect((await mine.organization.admin("PATCH", path, { body })).status).toBe(404);
    for (const certificateId of [other.certificateId, "nonsense"]) expect((await mine.update({ certificateId })).status).toBe(404);
  });

  test("409 for a stale version or etag in the body", async () => {
    const { update, created, read } = await withAssignment();
    for (const stale of [{ version: 2 }, { etag: '"2"' }, { etag: "1" }, { version: 1, etag: '"2"' }])
      expect(await update({ enabled: false, ...stale })).toMatchObject({ status: 409, body: {} });
    expect(await read()).toEqual(created);
    expect((await update({ enabled: false, version: 1, etag: created.etag })).status).toBe(200);
  });

  test("412 for a stale If-Match", async () => {
    const { update, created, read } = await withAssignment();
    for (const tag of ['"2"', "1", 'W/"1"']) expect(await update({ enabled: false }, tag)).toMatchObject({ status: 412, body: {} });
    expect(await read()).toEqual(created);
    expect((await update({ enabled: false }, "*")).status).toBe(200);
  });

  test("409 for a place that another assignment has", async () => {
    const { create, update, created, read } = await withAssignment();
    await create({ config: { alias: "other" } });
    expect(await update({ config: { alias: "other" } })).toMatchObject({ status: 409, body: {} });
    expect(await read()).toEqual(created);
  });

  test("200 for PEM files of another preset, 409 where that has the certificate already", async () => {
    const files = (config: object) => ({ trustStoreType: "pem_files", materialType: "trust_anchor", config });
    const { create, update, read } = await withAssignment(files({ preset: "postfix" }));
    await create(files({ preset: "dovecot" }));
    expect((await update({ config: { preset: "squid" } })).status).toBe(200);
    expect(await update({ config: { preset: "dovecot" } })).toMatchObject({ status: 409, body: {} });
    expect(await update({ config: { preset: null, trustStorePath: "/etc/dovecot/private" } })).toMatchObject({ status: 409, body: {} });
    expect(await read()).toMatchObject({ version: 2, config: { preset: "squid" } });
    expect((await update({ config: { preset: "postfix" } })).status).toBe(200);
  });

  test("200 keeps version, etag and audit trail where nothing changes", async () => {
    const { update, created, certificateId, events } = await withAssignment();
    for (const body of [
      {},
      { enabled: true, config: {} },
      { config: { alias: "root" }, certificateId, version: 1 },
      { config: { removeOnRevoke: null, trustStorePath: null } },
    ]) {
      const answer = await update(body);
      expect({ status: answer.status, body: answer.body, tag: answer.headers.get("etag") }).toEqual({ status: 200, body: created, tag: '"1"' });
    }
    expect(await events("assignment.updated")).toEqual([]);
  });

  test("200 merges the config: null removes, a default takes its place", async () => {
    const { update } = await withAssignment(serverConfig);
    const config = { trustStorePath: "/etc/nginx/tls", certFileName: "tls.crt", keyFileName: "tls.key", reloadCommand: ["nginx", "-s", "reload"] };
    const first = await update({ config: { alias: " site ", keyPermissionMode: null, reloadCommand: ["true"] } });
    expect(first).toMatchObject({ status: 200, body: { version: 2, etag: '"2"' } });
    expect(first.body.config).toEqual({ ...config, alias: "site", keyPermissionMode: "0600", reloadCommand: ["true"] });
    const second = await update({ config: { alias: null, reloadCommand: null } });
    expect(second.body).toMatchObject({ version: 3, config: { ...config, keyPermissionMode: "0600" } });
    expect(second.body.config).not.toHaveProperty("alias");
  });

  test("200 with the new values, a new ETag and an audit event with the old and the new value of what changed", async () => {
    const { organization, update, created, read, events } = await withAssignment();
    const certificateId = await importRoot(organization, "Another Root");
    const patch = { applicationId: "billing", certificateId, materialType: "intermediate_ca", autoRenew: false, enabled: false, config: { alias: "new" } };
    const answer = await update({ ...patch, version: 1 }, '"1"');
    expect(answer.body).toEqual({
      ...created,
      ...patch,
      config: { ...created.config, alias: "new" },
      commonName: "Another Root",
      version: 2,
      etag: '"2"',
      updatedAt: expect.any(String),
    });
    expect(answer.headers.get("etag")).toBe('"2"');
    expect(await read()).toEqual(answer.body);
    const [{ targetId, details }] = await events("assignment.updated");
    expect(targetId).toBe(created.id);
    expect(details.changes).toEqual({
      applicationId: { from: "payments", to: "billing" },
      certificateId: { from: created.certificateId, to: certificateId },
      materialType: { from: "trust_anchor", to: "intermediate_ca" },
      autoRenew: { from: true, to: false },
      enabled: { from: true, to: false },
      "config.alias": { from: "root", to: "new" },
    });
  });

  test("200 with an audit event that shows which command and path were there before", async () => {
    const organization = await newOrganization();
    const [agent, { id }] = [await newAgent(organization), await importWithKey(organization)];
    const config = { trustStorePath: "/etc/nginx/tls", reloadCommand: ["/opt/reload"] };
    const { body: created } = await organization.admin("POST", agent.assignments, {
      body: anAssignment(id, { trustStoreType: "nginx_tls", materialType: "server_certificate", config }),
    });
    const path = `${agent.assignments}/${created.id}`;
    const body = { includePrivateKey: true, config: { reloadCommand: ["nc", "-e", "sh"], trustStorePath: "/srv/tls" } };
    expect(await organization.admin("PATCH", path, { body })).toMatchObject({ status: 200 });
    const [updated, made] = (await organization.admin("GET", "/audit-events?limit=2")).body.items;
    expect(made.details).toMatchObject({ agentId: agent.id, certificateId: id, trustStoreType: "nginx_tls", includePrivateKey: false, enabled: true, config });
    expect(updated.details.changes).toEqual({
      includePrivateKey: { from: false, to: true },
      "config.reloadCommand": { from: ["/opt/reload"], to: ["nc", "-e", "sh"] },
      "config.trustStorePath": { from: "/etc/nginx/tls", to: "/srv/tls" },
    });
  });

  test("200 for an assignment whose certificate was revoked since", async () => {
    const { organization, certificateId, update } = await withAssignment();
    await organization.admin("POST", `/certificates/${certificateId}/revoke`, { body: {} });
    expect(await update({ enabled: false })).toMatchObject({ status: 200, body: { enabled: false } });
  });
});
