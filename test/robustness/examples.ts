import { CONNECTORS } from "#modules/core/connectors/rules/kinds";
import { WIDGETS } from "#modules/core/widgets/rules/kinds";
import { configRulesOf, materialsOf } from "#modules/fleet/trust-stores/rules/catalogue";
import { TRUST_STORE_TYPES } from "#modules/fleet/trust-stores/rules/store-types";
import { full } from "../support/openapi/fields";

/** Stands for what must be another in each request. */
export const UNIQUE = "(unique)";

const CONFIG: Record<string, unknown> = {
  reloadCommand: ["systemctl", "reload", "nginx"],
  nodeFlags: ["--use-openssl-ca"],
  verifyEndpoint: "https://www.certitude.example",
  keyPermissionMode: "0600",
  storePasswordRef: "env:STORE_PASSWORD",
  removeOnRevoke: true,
  autoRenew: true,
  useOpensslCa: true,
  preferOsStore: true,
  gatewayMode: false,
};

const configOf = (fields: readonly string[]) =>
  Object.fromEntries(fields.map((each) => [each, CONFIG[each] ?? (each.endsWith("Path") ? `/etc/certitude/${UNIQUE}` : UNIQUE)]));

/** Right bodies beside the document's own example, where a kind decides what else belongs into them. */
export const EXAMPLES: Record<string, unknown[]> = {
  createConnection: CONNECTORS.map(({ key, configFields, secretFields }) => ({
    kind: key,
    name: UNIQUE,
    config: full(configFields),
    secrets: full(secretFields),
  })),
  createWidget: WIDGETS.map(({ key, settings }) => ({ kind: key, title: "Odd", settings: full(settings) })),
  createAssignment: TRUST_STORE_TYPES.map((type) => ({
    applicationId: "payments",
    certificateId: "x",
    trustStoreType: type,
    materialType: materialsOf(type)[0],
    config: configOf([...configRulesOf(type).required, ...configRulesOf(type).optional]),
  })),
  updateCertificate: [
    {
      ownerId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
      contacts: ["pki@certitude.example"],
      labels: { env: "prod", team: "payments" },
      notes: "By hand.",
    },
  ],
  bulkUpdateLabels: [{ agentIds: ["x"], set: { tier: "edge" }, unset: ["env"] }],
  reportDeployments: [{ reports: [], host: { hostname: "web-01", operatingSystem: "Debian", platform: "linux", architecture: "x64", agentVersion: "0.1.0" } }],
  changeControlStatus: [
    {
      status: "implemented",
      note: "Done",
      evidence: [
        { title: "Wiki", url: "https://wiki.certitude.example/x" },
        { title: "Certificate", certificateId: "x" },
      ],
      ownerId: "0198c0de-7a5e-7d20-8f3c-6b1e2a4d9c01",
      dueDate: "2030-01-31",
    },
  ],
};
