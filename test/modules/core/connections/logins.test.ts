import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { generateKeyPairSync } from "node:crypto";
import { jwtVerify } from "jose";
import { testConnection } from "#modules/core/connections/services/tests";
import type { Kind } from "#modules/core/connectors/rules/kinds";
import { send } from "#outbound/http-client";
import { connect, tryOut } from "../../../support/server/connections";
import { newOrganization } from "../../../support/server/people";
import { startTarget } from "../../../support/server/target";

const organization = await newOrganization();
const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
const pem = String(privateKey.export({ type: "pkcs8", format: "pem" }));

/** A service that gives the token "t0ken" for what `expected` says, and answers only who brings it. */
let expected: { path: string; body: string };
const target = startTarget((request, index) => {
  const { path = "", body = "" } = target.requests[index] ?? {};
  if (path === expected.path)
    return body === expected.body ? Response.json({ access_token: "t0ken", auth: { client_token: "t0ken" } }) : new Response("no", { status: 400 });
  const isKnown = request.headers.get("authorization") === "Bearer t0ken" || request.headers.get("x-vault-token") === "t0ken";
  return isKnown ? Response.json({ status: "OK" }) : new Response("no", { status: 401 });
});
afterAll(() => target.stop());
beforeEach(() => void target.requests.splice(0));

const ACCEPTED = { outcome: "ok", message: "It accepted the credentials." };
const REFUSED = { outcome: "failed", message: "The login failed. It answered 400, not 200." };
const credentials = "grant_type=client_credentials&client_id=me&client_secret=";

/** Kinds whose test is a login and a request; `secret` is the secret that is right where it ends in "s3cr3t". */
const LOGINS: [string, string, (secret: string) => [config: object, secrets: object], { path: string; body: string }, string][] = [
  [
    "vault_pki",
    "approle",
    (secret) => [{ address: target.url, roleName: "web", authMethod: "approle", appRoleId: "r", namespace: "team" }, { appRoleSecretId: secret }],
    { path: "/v1/auth/approle/login", body: '{"role_id":"r","secret_id":"s3cr3t"}' },
    "/v1/auth/token/lookup-self",
  ],
  [
    "vault_pki",
    "kubernetes at a path of its own",
    (secret) => [
      { address: target.url, roleName: "web", authMethod: "kubernetes", authMountPath: "clusters/one", kubernetesRole: "pki" },
      { kubernetesJwt: secret },
    ],
    { path: "/v1/auth/clusters/one/login", body: '{"role":"pki","jwt":"s3cr3t"}' },
    "/v1/auth/token/lookup-self",
  ],
  [
    "ejbca",
    "oauth2",
    (secret) => [
      {
        baseUrl: target.url,
        caName: "CA",
        certificateProfile: "p",
        endEntityProfile: "e",
        authMethod: "oauth2",
        tokenUrl: `${target.url}/realms/pki/token`,
        clientId: "me",
      },
      { clientSecret: secret },
    ],
    { path: "/realms/pki/token", body: `${credentials}s3cr3t` },
    "/ejbca/ejbca-rest-api/v1/ca/status",
  ],
  [
    "servicenow",
    "oauth2",
    (secret) => [{ instanceUrl: target.url, authMethod: "oauth2_client_credentials", clientId: "me" }, { clientSecret: secret }],
    { path: "/oauth_token.do", body: `${credentials}s3cr3t` },
    "/api/now/table/sys_user?sysparm_limit=1",
  ],
];

describe("a test that logs in first", () => {
  test.each(LOGINS)(
    "%s by %s: 200 ok with the token of the login; failed where there is none, and nothing else is asked",
    async (kind, _, given, login, asked) => {
      expected = login;
      const tryWith = async (secret: string) => (await tryOut(organization, await connect(organization, kind, ...given(secret)))).body;
      expect(await tryWith("s3cr3t")).toEqual(ACCEPTED);
      expect(target.requests.map(({ path }) => path)).toEqual([login.path, asked]);
      expect(target.requests.map(({ headers }) => headers["x-vault-namespace"])).toEqual(
        JSON.stringify(given("x")).includes("namespace") ? ["team", "team"] : [undefined, undefined],
      );
      expect(await tryWith("another")).toEqual(REFUSED);
      expect(target.requests).toHaveLength(3);
    },
  );

  test("vault_pki with a mount path that leads elsewhere: 200 failed, and nothing is asked", async () => {
    const config = { address: target.url, roleName: "web", authMethod: "approle", authMountPath: "../../sys", appRoleId: "r" };
    const before = target.requests.length;
    expect((await tryOut(organization, await connect(organization, "vault_pki", config))).body).toMatchObject({
      outcome: "failed",
      message: "Its fields make no address that can be asked.",
    });
    expect(target.requests).toHaveLength(before);
  });

  test("vault_pki by approle without a secret id, which a role may do without", async () => {
    expected = { path: "/v1/auth/approle/login", body: '{"role_id":"r"}' };
    const config = { address: target.url, roleName: "web", authMethod: "approle", appRoleId: "r" };
    expect((await tryOut(organization, await connect(organization, "vault_pki", config))).body).toEqual(ACCEPTED);
  });
});

test("POST /core/connections/{connectionId}/test of a github app 200 ok with a JWT that the app's key signed, failed for a key that is none", async () => {
  const app = startTarget(async (request) => {
    const jwt = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
    const { payload } = await jwtVerify(jwt, publicKey, { algorithms: ["RS256"], issuer: "42" });
    const isShort = (payload.exp ?? 0) - (payload.iat ?? 0) <= 600 && (payload.iat ?? 0) * 1_000 < Date.now();
    return new Response("{}", { status: isShort && request.url.endsWith("/app") ? 200 : 401 });
  });
  const tryWith = async (appPrivateKeyPem: string) => {
    const id = await connect(organization, "github", { apiBaseUrl: app.url, owner: "x", authMethod: "app", appId: "42" }, { appPrivateKeyPem });
    return (await tryOut(organization, id)).body;
  };
  expect(await tryWith(pem)).toEqual(ACCEPTED);
  expect(await tryWith("nonsense")).toEqual({ outcome: "failed", message: "Its appPrivateKeyPem must be an RSA private key in PEM." });
  expect(app.requests).toHaveLength(1);
  await app.stop();
});

describe("a login at an address of the provider's own", () => {
  /** Makes the calls here, and keeps where they were to go. */
  async function tryAs(kind: Kind, values: Record<string, unknown>) {
    const hosts: string[] = [];
    const outcome = await testConnection(
      { kind, id: crypto.randomUUID(), organization: { id: organization.id, name: "Example" }, values },
      {
        config: { allowPrivateTargets: true, publicUrl: undefined },
        clock: () => new Date(),
        reach: (call, limits) => {
          hosts.push(call.url.host);
          return send({ ...call, url: new URL(call.url.pathname + call.url.search, target.url) }, limits);
        },
      },
    );
    return { outcome, hosts };
  }

  test("azure_key_vault: ok with the token of the tenant's client, failed with another secret", async () => {
    expected = { path: "/tenant/oauth2/v2.0/token", body: `${credentials}s3cr3t&scope=https%3A%2F%2Fvault.azure.net%2F.default` };
    const values = { vaultUrl: "https://pki.vault.azure.net", tenantId: "tenant", clientId: "me", authMethod: "client_secret" };
    expect(await tryAs("azure_key_vault", { ...values, clientSecret: "s3cr3t" })).toEqual({
      outcome: { outcome: "ok", message: ACCEPTED.message },
      hosts: ["login.microsoftonline.com", "pki.vault.azure.net"],
    });
    expect((await tryAs("azure_key_vault", { ...values, clientSecret: "x" })).outcome).toEqual({ outcome: "failed", message: REFUSED.message });
  });

  test("google_cas: ok with a JWT of the service account, failed for a key file that is none", async () => {
    const account = { client_email: "pki@example.iam.gserviceaccount.com", private_key: pem, private_key_id: "k1" };
    const values = { projectId: "p", location: "l", caPoolId: "pool", serviceAccountKeyJson: JSON.stringify(account) };
    expected = {
      path: "/token",
      get body() {
        return target.requests.find(({ path }) => path === "/token")?.body ?? "";
      },
    };
    expect(await tryAs("google_cas", values)).toEqual({
      outcome: { outcome: "ok", message: ACCEPTED.message },
      hosts: ["oauth2.googleapis.com", "privateca.googleapis.com"],
    });
    const form = new URLSearchParams(target.requests[0]?.body);
    const { payload, protectedHeader } = await jwtVerify(form.get("assertion") ?? "", publicKey, { audience: "https://oauth2.googleapis.com/token" });
    expect([form.get("grant_type"), payload.iss, payload.scope, protectedHeader.kid]).toEqual([
      "urn:ietf:params:oauth:grant-type:jwt-bearer",
      account.client_email,
      "https://www.googleapis.com/auth/cloud-platform",
      "k1",
    ]);
    expect(target.requests[1]?.path).toBe("/v1/projects/p/locations/l/caPools/pool");
    expect((await tryAs("google_cas", { ...values, serviceAccountKeyJson: "{}" })).outcome).toMatchObject({ outcome: "failed" });
  });
});
