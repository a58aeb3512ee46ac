import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { EXPERIMENTAL, PROVIDERS } from "#modules/issuance/dns/rules/providers";
import { ISSUER_KINDS } from "./rules/kinds";

const Outcome = OneOf(["ok", "failed"], { description: "ok: it would take an order" });
const EXAMPLE_CONFIG = { directoryUrl: "https://acme-v02.api.letsencrypt.org/directory", contact: ["pki@certitude.example"], termsOfServiceAgreed: true };

const Kind = OneOf(ISSUER_KINDS, {
  description: "acme: any directory of RFC 8555; internal: an authority of this organization. The kind says which fields config and secrets have",
  examples: ["acme"],
});
const CHALLENGES = `Of acme also challenges: http-01, and dns-01 with a provider of ${PROVIDERS.join(", ")}, of which ${EXPERIMENTAL.join(", ")} are experimental`;
const Name = Text({ description: "Unique in the organization, whatever its case and Unicode form", examples: ["Let's Encrypt"] });
const Fields = (description: string, example: Record<string, unknown>) => t.Record(t.String(), t.Unknown(), { description, examples: [example] });

export const NewIssuer = Body(
  {
    kind: Kind,
    name: Name,
    config: Fields(`The kind's config fields. ${CHALLENGES}`, EXAMPLE_CONFIG),
    secrets: t.Optional(Fields("The kind's secret fields: sealed, and never returned. An account key that is not given is made", {})),
  },
  { title: "NewIssuer" },
);

export const IssuerPatch = Body(
  {
    name: t.Optional(Name),
    config: t.Optional(Fields("JSON merge patch of the config: null removes a field", { preferredChain: "ISRG Root X1" })),
    secrets: t.Optional(Fields("JSON merge patch of the secrets: null removes one", { externalAccountHmacKey: null })),
  },
  { title: "IssuerPatch", minProperties: 1 },
);

const Message = t.String({ description: "What it answered, or why it could not be asked", examples: ["The directory knows the account."] });

export const IssuerTest = Answer({ outcome: Outcome, message: Message }, { title: "IssuerTest" });

export const Issuer = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    kind: Kind,
    name: t.String({ description: "Unique in the organization, whatever its case and Unicode form", examples: ["Let's Encrypt"] }),
    config: Fields("The kind's config fields, defaults included", { ...EXAMPLE_CONFIG, challenges: [{ type: "http-01" }] }),
    secretNames: t.Array(t.String(), { description: "Which secrets are stored", examples: [["accountKeyPem"]] }),
    experimentalProviders: t.Array(t.String(), {
      description: "Those of its dns-01 challenges that were tried against their recorded protocol alone, and not against the real service",
      examples: [[]],
    }),
    account: Nullable(
      Answer(
        {
          url: Nullable(t.String({ description: "Where the CA keeps it" })),
          thumbprint: Nullable(t.String({ description: "Of its key (RFC 7638), base64url" })),
        },
        { description: "At an ACME directory: once it was needed", title: "IssuerAccount" },
      ),
    ),
    retryAt: Nullable({ ...DateTime, description: "Nothing asks the issuer before: it limits its rate, or is away" }),
    lastTest: Nullable(
      Answer(
        { outcome: Outcome, message: Message, testedAt: { ...DateTime, description: "When it was tested" } },
        { description: "null: not since it was changed" },
      ),
    ),
    version: Version,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "CertificateIssuer" },
);
