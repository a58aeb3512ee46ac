import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Nullable, OneOf, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { connectionKinds } from "#modules/core/connectors/rules/kind-schemas";
import { KINDS } from "#modules/core/connectors/rules/kinds";

const Outcome = OneOf(["ok", "failed", "unsupported"], { description: "unsupported: nothing was tried, and the message says why" });
const EXAMPLE_CONFIG = { owner: "example", authMethod: "token" };

const Kind = OneOf(KINDS, { description: "What it connects to; the kind says which fields config and secrets have", examples: ["github"] });
const Name = Text({ description: "Unique in the organization, whatever its case and Unicode form", examples: ["Our GitHub"] });
const Fields = (description: string, example: Record<string, unknown>) => t.Record(t.String(), t.Unknown(), { description, examples: [example] });

export const NewConnection = Body(
  {
    kind: Kind,
    name: Name,
    config: t.Optional(Fields("The kind's config fields", EXAMPLE_CONFIG)),
    secrets: t.Optional(Fields("The kind's secret fields: sealed, and never returned", { token: "a token of your own" })),
  },
  { title: "NewConnection", kinds: connectionKinds },
);

export const ConnectionPatch = Body(
  {
    name: t.Optional(Name),
    config: t.Optional(Fields("JSON merge patch of the config: null removes a field", { repository: "infrastructure" })),
    secrets: t.Optional(Fields("JSON merge patch of the secrets: null removes one", { webhookSecret: null })),
  },
  { title: "ConnectionPatch", minProperties: 1 },
);

const Message = t.String({ description: "What it answered, or why it could not be asked", examples: ["It accepted the credentials."] });

export const TestOutcome = Answer({ outcome: Outcome, message: Message }, { title: "TestOutcome" });

export const Connection = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    kind: Kind,
    name: t.String({ description: "Unique in the organization, whatever its case and Unicode form", examples: ["Our GitHub"] }),
    config: Fields("The kind's config fields, defaults included", { ...EXAMPLE_CONFIG, apiBaseUrl: "https://api.github.com" }),
    secretNames: t.Array(t.String(), { description: "Which secrets are stored", examples: [["token"]] }),
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
  { title: "Connection" },
);
