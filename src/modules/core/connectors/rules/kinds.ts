import type { Field } from "#catalogue/fields";
import catalogue from "./connectors.json";

export const KINDS = [
  "acme",
  "step_ca",
  "vault_pki",
  "ejbca",
  "digicert_certcentral",
  "aws_acm",
  "aws_acm_pca",
  "azure_key_vault",
  "google_cas",
  "kubernetes",
  "slack",
  "microsoft_teams",
  "webhook",
  "smtp",
  "pagerduty",
  "servicenow",
  "jira",
  "github",
  "mlflow",
  "wandb",
  "s3",
] as const;
export type Kind = (typeof KINDS)[number];

/** Kinds that only a message can check. */
export const BY_MESSAGE: readonly Kind[] = ["webhook", "microsoft_teams"];

export type Verify = {
  method: string;
  /** The name of a config field, or an address. */
  base: string;
  path: string;
  auth: string;
  success: string;
  checksCredentials: boolean;
  headers?: Record<string, string | undefined>;
  body?: Record<string, unknown>;
  note?: string;
};

/** A field, of the config or of the secrets, without which a connection cannot work where another one is there, or has the value `is`. */
export type Need = { field: string; where: string; is?: string };

export type Connector = {
  key: string;
  displayName: string;
  category: string;
  configFields: Field[];
  secretFields: Field[];
  needs?: Need[];
  verify: Verify | null;
  note?: string;
  /** The part that no test covers. */
  experimental?: string;
};

export const CONNECTORS: readonly Connector[] = catalogue as Connector[];

export function connectorOf(kind: string): Connector {
  const connector = CONNECTORS.find((each) => each.key === kind);
  if (!connector) throw new Error(`There is no connector ${kind} in the catalogue.`);
  return connector;
}
