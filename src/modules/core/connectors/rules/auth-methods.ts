import type { Kind } from "./kinds";

/** How a check proves who it is. `{name}` stands for a config field or a secret; a way is for the configs that have what `when` says. */
export type Way = {
  when?: Record<string, string | boolean>;
  /** Fields that the check cannot do with. */
  without?: string[];
  headers?: Record<string, string>;
  /** User and password. */
  basic?: [string, string];
  clientCertificate?: true;
  /** Comes first, and gives `{accessToken}`. */
  login?: Login;
  /** The JWT of `{assertion}`, signed by a private key for this service. */
  assertion?: "github" | "google";
  /** The service that Signature Version 4 of AWS is for. */
  signedFor?: string;
  /** Instead of the catalogue's. */
  base?: string;
  path?: string;
  /** Of a storage that may be elsewhere: the field that says where, the address without one, and what its host begins with. */
  endpoint?: { field: string; otherwise: string; prefix?: string };
};

/** A request for a token: below the address of a config field, or at an address. What has no value is left out of its form or JSON. */
export type Login = { base: string; path?: string; defaults?: Record<string, string>; token: string } & (
  | { form: Record<string, string> }
  | { json: Record<string, string> }
);

const bearer = (secret: string) => ({ headers: { authorization: `Bearer {${secret}}` } });
const TOKEN = { headers: { authorization: "Bearer {accessToken}" } };
/** Client credentials of OAuth 2.0 (RFC 6749, 4.4), in the body. */
const clientCredentials = (base: string, path = "", more = {}): Login => ({
  base,
  path,
  form: { grant_type: "client_credentials", client_id: "{clientId}", client_secret: "{clientSecret}", ...more },
  token: "access_token",
});
const vaultLogin = (method: string, json: Record<string, string>) => ({
  when: { authMethod: method },
  login: { base: "address", path: "/v1/auth/{authMountPath}/login", defaults: { authMountPath: method }, json, token: "auth.client_token" },
  headers: { "x-vault-token": "{accessToken}" },
});
const signedFor = (service: string): Way => ({ signedFor: service, without: ["roleArn"] });
const S3 = { field: "endpoint", otherwise: "https://s3.{region}.amazonaws.com" };
const PAGERDUTY = { headers: { authorization: "Token token={apiToken}" } };

/** The checks that are a request, which may follow a login. The catalogue says the rest of each. */
export const WAYS: Partial<Record<Kind, Way[]>> = {
  step_ca: [{}],
  vault_pki: [
    { when: { authMethod: "token" }, headers: { "x-vault-token": "{token}" } },
    vaultLogin("approle", { role_id: "{appRoleId}", secret_id: "{appRoleSecretId}" }),
    vaultLogin("kubernetes", { role: "{kubernetesRole}", jwt: "{kubernetesJwt}" }),
  ],
  ejbca: [
    { when: { authMethod: "mtls" }, clientCertificate: true },
    { when: { authMethod: "oauth2" }, login: clientCredentials("tokenUrl"), ...TOKEN },
  ],
  digicert_certcentral: [{ headers: { "x-dc-devkey": "{apiKey}" } }],
  aws_acm: [signedFor("acm")],
  aws_acm_pca: [signedFor("acm-pca")],
  azure_key_vault: [
    {
      when: { authMethod: "client_secret" },
      login: clientCredentials("https://login.microsoftonline.com", "/{tenantId}/oauth2/v2.0/token", { scope: "https://vault.azure.net/.default" }),
      ...TOKEN,
    },
  ],
  google_cas: [
    {
      without: ["impersonateServiceAccount"],
      assertion: "google",
      login: {
        base: "https://oauth2.googleapis.com",
        path: "/token",
        form: { grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer", assertion: "{assertion}" },
        token: "access_token",
      },
      ...TOKEN,
    },
  ],
  kubernetes: [
    { when: { authMethod: "service_account_token" }, ...bearer("bearerToken") },
    { when: { authMethod: "client_certificate" }, clientCertificate: true },
  ],
  slack: [{ when: { mode: "bot_token" }, ...bearer("botToken") }],
  pagerduty: [
    { when: { region: "us" }, ...PAGERDUTY },
    { when: { region: "eu" }, ...PAGERDUTY, base: "https://api.eu.pagerduty.com" },
  ],
  servicenow: [
    { when: { authMethod: "basic" }, basic: ["{username}", "{password}"] },
    { when: { authMethod: "oauth2_client_credentials" }, login: clientCredentials("instanceUrl", "/oauth_token.do"), ...TOKEN },
  ],
  jira: [
    { when: { deployment: "cloud" }, basic: ["{email}", "{apiToken}"] },
    { when: { deployment: "data_center" }, ...bearer("apiToken"), path: "/rest/api/2/myself" },
  ],
  github: [
    { when: { authMethod: "token" }, ...bearer("token") },
    { when: { authMethod: "app" }, assertion: "github", path: "/app", ...bearer("assertion") },
  ],
  mlflow: [
    { when: { authMethod: "none" } },
    { when: { authMethod: "basic" }, basic: ["{username}", "{password}"] },
    { when: { authMethod: "bearer" }, ...bearer("bearerToken") },
  ],
  wandb: [{ basic: ["api", "{apiKey}"] }],
  s3: [
    { when: { pathStyle: true }, ...signedFor("s3"), endpoint: S3 },
    { when: { pathStyle: false }, ...signedFor("s3"), endpoint: { ...S3, prefix: "{bucket}." }, path: "/" },
  ],
};
