import { t } from "elysia";
import { Answer, Body, DateTime, Integer, Nullable, OneOf, Text, Uuid } from "#http/schema";
import { EXPERIMENTAL, PROVIDERS } from "#modules/issuance/dns/rules/providers";
import { ISSUER_KINDS } from "./rules/kinds";

const OUTCOMES = ["ok", "failed"] as const;
const EXAMPLE_CONFIG = { directoryUrl: "https://acme-v02.api.letsencrypt.org/directory", contact: ["pki@certitude.example"], termsOfServiceAgreed: true };

const Kind = OneOf(ISSUER_KINDS, {
  description: "acme: any directory of RFC 8555; internal: an authority of this organization. The kind says which fields config and secrets have",
  examples: ["acme"],
});
const CHALLENGES = `Of acme also challenges: http-01, and dns-01 with a provider of ${PROVIDERS.join(", ")}, of which ${EXPERIMENTAL.join(", ")} are experimental`;
const Name = Text({ description: "Unique in the organization", examples: ["Let's Encrypt"] });
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

const Message = t.String({ examples: ["The directory knows the account."] });

export const IssuerTest = Answer({ outcome: OneOf(OUTCOMES), message: Message }, { title: "IssuerTest" });

export const Issuer = Answer(
  {
    id: Uuid,
    organizationId: Uuid,
    kind: Kind,
    name: t.String({ examples: ["Let's Encrypt"] }),
    config: Fields("The kind's config fields, defaults included", { ...EXAMPLE_CONFIG, challenges: [{ type: "http-01" }] }),
    secretNames: t.Array(t.String(), { examples: [["accountKeyPem"]] }),
    experimentalProviders: t.Array(t.String(), {
      description: "Those of its dns-01 challenges that were tried against their recorded protocol alone, and not against the real service",
      examples: [[]],
    }),
    account: Nullable(
      Answer(
        { url: Nullable(t.String()), thumbprint: Nullable(t.String()) },
        { description: "At an ACME directory: once it was needed", title: "IssuerAccount" },
      ),
    ),
    retryAt: Nullable({ ...DateTime, description: "Nothing asks the issuer before: it limits its rate, or is away" }),
    lastTest: Nullable(Answer({ outcome: OneOf(OUTCOMES), message: Message, testedAt: DateTime })),
    version: Integer(),
    createdAt: DateTime,
    updatedAt: DateTime,
  },
  { title: "CertificateIssuer" },
);
