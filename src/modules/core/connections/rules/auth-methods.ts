import type { Kind } from "./kinds";

/** How a check proves who it is. `{name}` stands for a config field or a secret; a way is for the configs that have what `when` says. */
export type Way = {
  when?: Record<string, string>;
  headers?: Record<string, string>;
  /** User and password. */
  basic?: [string, string];
  clientCertificate?: true;
  /** Instead of the catalogue's. */
  base?: string;
  path?: string;
};

const bearer = (secret: string) => ({ headers: { authorization: `Bearer {${secret}}` } });
const PAGERDUTY = { headers: { authorization: "Token token={apiToken}" } };

/** The checks that need no more than a header, a password or a client certificate. The catalogue says the rest of each request. */
export const WAYS: Partial<Record<Kind, Way[]>> = {
  step_ca: [{}],
  vault_pki: [{ when: { authMethod: "token" }, headers: { "x-vault-token": "{token}" } }],
  ejbca: [{ when: { authMethod: "mtls" }, clientCertificate: true }],
  digicert_certcentral: [{ headers: { "x-dc-devkey": "{apiKey}" } }],
  kubernetes: [
    { when: { authMethod: "service_account_token" }, ...bearer("bearerToken") },
    { when: { authMethod: "client_certificate" }, clientCertificate: true },
  ],
  slack: [{ when: { mode: "bot_token" }, ...bearer("botToken") }],
  pagerduty: [
    { when: { region: "us" }, ...PAGERDUTY },
    { when: { region: "eu" }, ...PAGERDUTY, base: "https://api.eu.pagerduty.com" },
  ],
  servicenow: [{ when: { authMethod: "basic" }, basic: ["{username}", "{password}"] }],
  jira: [
    { when: { deployment: "cloud" }, basic: ["{email}", "{apiToken}"] },
    { when: { deployment: "data_center" }, ...bearer("apiToken"), path: "/rest/api/2/myself" },
  ],
  github: [{ when: { authMethod: "token" }, ...bearer("token") }],
  mlflow: [
    { when: { authMethod: "none" } },
    { when: { authMethod: "basic" }, basic: ["{username}", "{password}"] },
    { when: { authMethod: "bearer" }, ...bearer("bearerToken") },
  ],
  wandb: [{ basic: ["api", "{apiKey}"] }],
};
