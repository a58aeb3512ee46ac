import { afterAll, describe, expect, test } from "bun:test";
import { certificate } from "../../../support/pki/certificates";
import { connect, privateWorld, tryOut } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";
import { fingerprintOf, startTarget, startTlsTarget } from "../../../support/server/target";
import { world } from "../../../support/server/world";

const targets: ReturnType<typeof startTarget>[] = [];
const target = (...given: Parameters<typeof startTarget>) => {
  const started = startTarget(...given);
  targets.push(started);
  return started;
};
afterAll(() => Promise.all(targets.map((each) => each.stop())));

const github = (apiBaseUrl: string, secrets: object = { token: "s3cr3t" }) => ["github", { apiBaseUrl, owner: "x", authMethod: "token" }, secrets] as const;
const localhost = { commonName: "localhost", dns: ["localhost"] };

describe("POST /organizations/{organizationId}/core/connections/{connectionId}/test", () => {
  test("403 for an ORG_MEMBER", async () => {
    const organization = await newOrganization();
    const id = await connect(organization, ...github("https://api.example"));
    expect((await organization.member("POST", `/core/connections/${id}/test`)).status).toBe(403);
  });

  test("404 for another organization's and for what is no id", async () => {
    const [mine, other] = [await newOrganization(), await newOrganization()];
    const id = await connect(other, ...github("https://api.example"));
    expect((await tryOut(mine, id)).status).toBe(404);
    expect((await tryOut(mine, "x")).status).toBe(404);
  });

  test("200 ok: asks what the catalogue says, as it says, and keeps the outcome without a new version", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => Response.json({ login: "ada" }));
    const id = await connect(organization, ...github(`${url}/api/v3/`));
    expect(await tryOut(organization, id)).toMatchObject({ status: 200, body: { outcome: "ok", message: "It accepted the credentials." } });
    expect(requests).toEqual([{ method: "GET", path: "/api/v3/user", headers: expect.anything(), body: "" }]);
    expect(requests[0]?.headers).toMatchObject({ authorization: "Bearer s3cr3t", accept: "application/vnd.github+json", "user-agent": "certitude" });
    const { body } = await organization.admin("GET", `/core/connections/${id}`);
    expect(body).toMatchObject({ version: 1, lastTest: { outcome: "ok", message: "It accepted the credentials.", testedAt: expect.any(String) } });
    const [event] = (await organization.admin("GET", "/audit-events")).body.items;
    expect(event).toMatchObject({ action: "connection.tested", targetId: id, details: { outcome: "ok" } });
  });

  test.each([
    [
      "mlflow",
      { authMethod: "basic", username: "ada" },
      { password: "pä:ss" },
      { authorization: `Basic ${Buffer.from("ada:pä:ss").toString("base64")}` },
      "POST",
    ],
    ["mlflow", { authMethod: "none" }, {}, { "content-type": "application/json" }, "POST"],
    ["jira", { deployment: "data_center", projectKey: "x" }, { apiToken: "t" }, { authorization: "Bearer t" }, "GET"],
    ["vault_pki", { roleName: "r", authMethod: "token", namespace: "team/a" }, { token: "t" }, { "x-vault-token": "t", "x-vault-namespace": "team/a" }, "GET"],
    ["digicert_certcentral", { organizationId: 1, productNameId: "x" }, { apiKey: "k" }, { "x-dc-devkey": "k" }, "GET"],
    ["servicenow", { authMethod: "basic", username: "u" }, { password: "p" }, { authorization: "Basic dTpw" }, "GET"],
  ])("200 ok for %s with %j", async (kind, config, secrets, headers, method) => {
    const organization = await newOrganization();
    const { url, requests } = target(() => Response.json({}));
    const address = { mlflow: "trackingUri", jira: "baseUrl", vault_pki: "address", digicert_certcentral: "baseUrl", servicenow: "instanceUrl" }[kind] ?? "";
    const id = await connect(organization, kind, { ...config, [address]: url }, secrets);
    expect((await tryOut(organization, id)).body.outcome).toBe("ok");
    expect(requests).toMatchObject([{ method, headers }]);
    if (kind === "mlflow") expect(requests[0]).toMatchObject({ path: "/api/2.0/mlflow/experiments/search", body: '{"max_results":1}' });
    if (kind === "jira") expect(requests[0]).toMatchObject({ path: "/rest/api/2/myself" });
    if (kind === "servicenow") expect(requests[0]).toMatchObject({ path: "/api/now/table/sys_user?sysparm_limit=1" });
  });

  test("200 ok reads the answer where the catalogue says so", async () => {
    const organization = await newOrganization();
    const answers = [{ data: { viewer: { username: "ada" } } }, { data: { viewer: null } }, {}, "nonsense"];
    const { url } = target((_, index) => Response.json(answers[index]));
    const id = await connect(organization, "wandb", { baseUrl: url, entity: "e", project: "p" }, { apiKey: "k" });
    const failed = { outcome: "failed", message: "It answered 200, but without data.viewer not null." };
    expect((await tryOut(organization, id)).body.outcome).toBe("ok");
    for (const _ of answers.slice(1)) expect((await tryOut(organization, id)).body).toEqual(failed);
  });

  test("200 ok over TLS with the roots of the config, failed without them or for another host", async () => {
    const organization = await newOrganization();
    const root = certificate({ isCa: true });
    const reply = () => Response.json({ status: { userInfo: { username: "ada" } } }, { status: 201 });
    const { url } = target(reply, certificate({ ...localhost, issuer: root }));
    const other = target(reply, certificate({ dns: ["other.example"], issuer: root }));
    const config = { caBundlePem: root.pem, authMethod: "service_account_token" };
    const test = async (rest: object) => {
      const id = await connect(organization, "kubernetes", { ...config, ...rest }, { bearerToken: "t" });
      return (await tryOut(organization, id)).body;
    };
    expect(await test({ apiServerUrl: url })).toMatchObject({ outcome: "ok" });
    expect(await test({ apiServerUrl: url, caBundlePem: certificate({ isCa: true }).pem })).toEqual({
      outcome: "failed",
      message: "Its TLS certificate is not trusted.",
    });
    expect(await test({ apiServerUrl: other.url })).toEqual({ outcome: "failed", message: "Its TLS certificate is for another host." });
    expect(await test({ apiServerUrl: url.replace("https", "http") })).toMatchObject({ outcome: "failed" });
  });

  test("200 ok with a client certificate, failed with one that is none", async () => {
    const organization = await newOrganization();
    const [root, client] = [certificate({ isCa: true }), certificate()];
    const url = await startTlsTarget(certificate({ ...localhost, issuer: root }), client);
    const test = async ({ pem, privateKey }: typeof client) => {
      const secrets = { clientCertificatePem: pem, clientKeyPem: privateKey.export({ type: "pkcs8", format: "pem" }) };
      const config = { apiServerUrl: url, caBundlePem: root.pem, authMethod: "client_certificate" };
      return (await tryOut(organization, await connect(organization, "kubernetes", config, secrets))).body;
    };
    expect(await test(client)).toMatchObject({ outcome: "ok" });
    expect(await test(certificate())).toMatchObject({ outcome: "failed", message: "It answered 401: it does not accept the credentials." });
    expect(await test({ ...client, pem: "nonsense" })).toMatchObject({ outcome: "failed" });
  });

  test("200 ok for a step-ca whose root has the fingerprint of the config, failed for another", async () => {
    const organization = await newOrganization();
    const root = certificate({ isCa: true });
    const { url } = target(
      (request) => Response.json(new URL(request.url).pathname.startsWith("/root/") ? { ca: root.pem } : { status: "ok" }),
      certificate({ ...localhost, issuer: root }),
    );
    const test = async (rootFingerprint: string) => {
      const id = await connect(organization, "step_ca", { caUrl: url, rootFingerprint, provisionerName: "p" });
      return (await tryOut(organization, id)).body;
    };
    expect(await test(fingerprintOf(root.pem))).toEqual({ outcome: "ok", message: "It answers. Credentials are not part of this check." });
    expect(await test("ab".repeat(32))).toEqual({ outcome: "failed", message: "Its TLS certificate is not trusted." });
  });

  test.each([
    ["401", () => new Response("no", { status: 401 }), "It answered 401: it does not accept the credentials."],
    ["500", () => new Response("no", { status: 500 }), "It answered 500, not 200."],
    ["a redirect", () => Response.redirect("http://169.254.169.254/"), "It answered 302, a redirect, which the check does not follow."],
    ["a long answer", () => new Response("x".repeat(70_000)), "It answered with more than 64 KiB."],
  ])("200 failed for %s", async (_, reply, message) => {
    const organization = await newOrganization();
    const { url, requests } = target(reply);
    const id = await connect(organization, ...github(url));
    expect((await tryOut(organization, id)).body).toEqual({ outcome: "failed", message });
    expect(requests).toHaveLength(1);
  });

  test("200 failed for a port that nobody listens on, a name that nobody has, and a secret that no header carries", async () => {
    const organization = await newOrganization();
    const closed = startTarget(() => new Response());
    await closed.stop();
    const test = async (url: string, secrets?: object) => (await tryOut(organization, await connect(organization, ...github(url, secrets)))).body.message;
    expect(await test(closed.url)).toBe("It refused the connection.");
    expect(await test("http://nobody.invalid")).toBe("Its host name cannot be resolved.");
    expect(await test(closed.url, { token: "s3cr3t\r\nx-other: 1" })).toBe("A config field or secret has a character that an HTTP header cannot carry.");
  });

  test("200 failed when it does not answer in time, before the request's own time is over", async () => {
    const organization = await newOrganization();
    const silent = target(() => Bun.sleep(6_000).then(() => new Response()));
    const slow = target(() => new Response(new ReadableStream({ pull: (controller) => Bun.sleep(400).then(() => controller.enqueue(new Uint8Array([32]))) })));
    const ids = [await connect(organization, ...github(silent.url)), await connect(organization, ...github(slow.url))];
    const answers = await Promise.all(ids.map((id) => tryOut(organization, id)));
    for (const { status, body } of answers)
      expect({ status, ...body }).toEqual({ status: 200, outcome: "failed", message: "It did not answer within 4 seconds." });
  });

  test("200 failed, and nothing is asked, when private targets are no longer allowed", async () => {
    const organization = await newOrganization();
    const { url, requests } = target(() => Response.json({}));
    for (const base of [url, url.replace("localhost", "127.0.0.1")]) {
      const id = await connect(organization, ...github(base));
      expect((await tryOut(organization, id, world.url)).body).toEqual({
        outcome: "failed",
        message: "Its host name leads to a private, local or reserved address.",
      });
    }
    expect(requests).toEqual([]);
  });

  test("200 failed when the secrets were sealed with another key", async () => {
    const organization = await newOrganization();
    const id = await connect(organization, ...github("https://api.example"));
    await world.sql`update connections set sealed_secrets = decode(repeat('00', 60), 'hex') where organization_id = ${organization.id} and id = ${id}`;
    expect((await tryOut(organization, id)).body).toEqual({ outcome: "failed", message: "Its secrets were sealed with another SECRETS_KEY. Set them again." });
    const { body } = await organization.admin("PATCH", `/core/connections/${id}`, { body: { secrets: { token: "again" } }, url: privateWorld.url });
    expect(body).toMatchObject({ version: 2, secretNames: ["token"] });
  });

  test("200 keeps no outcome for a connection that became another meanwhile", async () => {
    const organization = await newOrganization();
    const { url } = target(async () => {
      await organization.admin("PATCH", `/core/connections/${id}`, { body: { secrets: { token: "new" } }, url: privateWorld.url });
      return Response.json({});
    });
    const id: string = await connect(organization, ...github(url));
    expect((await tryOut(organization, id)).body.outcome).toBe("ok");
    expect((await organization.admin("GET", `/core/connections/${id}`)).body).toMatchObject({ version: 2, lastTest: null });
  });
});
