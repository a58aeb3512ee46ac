import { t } from "elysia";
import { Answer, Body, Integer, Nullable, OneOf, OrganizationId, Text, UpdatedAt } from "#http/schema";

const Threshold = Body(
  {
    days: Integer({ minimum: 1, maximum: 3_650, description: "Days before the end of the validity", examples: [30] }),
    share: t.Optional(
      t.Number({ minimum: 0.001, maximum: 1, default: 1, description: "No earlier than with this share of the lifetime left", examples: [0.25] }),
    ),
  },
  { title: "ExpiryThreshold" },
);
const thresholds = t.Array(Threshold, {
  minItems: 1,
  maxItems: 20,
  description: "Members are notified of each once; of several that are reached at once, of the most urgent",
});
const role = OneOf(["ORG_ADMIN", "ORG_MEMBER"], { description: "The recipients for certificates without an owner: the admins, or every member" });
const overrides = t.Array(
  Body(
    {
      issuer: t.Optional(Text({ max: 1_000, description: "The issuer's name, as certificates show it", examples: ["CN=Example CA,O=Example Ltd"] })),
      selector: t.Optional(
        Text({ max: 2_000, description: "Labels of the certificates, in the grammar of Kubernetes", examples: ["env=prod,team in (payments,risk)"] }),
      ),
      thresholds,
    },
    { title: "ExpiryOverride" },
  ),
  { maxItems: 50, description: "Other thresholds for the certificates of some issuers or with some labels: the first that fits counts" },
);

export const PutExpiryPolicy = Body({ thresholds, overrides: t.Optional(overrides), role: t.Optional(role) }, { title: "PutExpiryPolicy" });

export const ExpiryPolicyAnswer = Answer(
  { organizationId: OrganizationId, thresholds, overrides, role, version: Integer({ description: "0: the defaults" }), updatedAt: Nullable(UpdatedAt) },
  { title: "ExpiryPolicy" },
);
