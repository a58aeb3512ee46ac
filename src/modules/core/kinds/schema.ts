import { t } from "elysia";
import { Answer, Integer, Nullable, OneOf } from "#http/schema";
import { TESTS } from "#modules/core/connectors/rules/kind-schemas";
import { KINDS } from "#modules/core/connectors/rules/kinds";
import { KINDS as WIDGET_KINDS } from "#modules/core/widgets/rules/kinds";

const JsonSchema = (description: string) => t.Record(t.String(), t.Unknown(), { description: `JSON Schema (draft 2020-12) of ${description}` });
const Example = (description: string, example: object) => t.Record(t.String(), t.Unknown(), { description, examples: [example] });
const DisplayName = (example: string) => t.String({ description: "Its name for people", examples: [example] });

const ConnectionKind = Answer(
  {
    kind: OneOf(KINDS, { description: "What a new connection names" }),
    displayName: DisplayName("GitHub"),
    category: t.String({ description: "What it is used for", examples: ["platform"] }),
    note: Nullable(t.String({ description: "What to know before one makes a connection" })),
    test: OneOf(TESTS, {
      description: "What POST …/test finds out: whether the credentials are accepted, whether it answers, or whether a message arrives, which it sends",
    }),
    experimental: Nullable(t.String({ description: "Where the test is experimental: what it does not cover, or was not tried with" })),
    config: JsonSchema("the config"),
    secrets: JsonSchema("the secrets, which no answer shows"),
    needs: JsonSchema("config and secrets together: which fields are needed where others are there, or have what value"),
    example: Example("A body for POST …/core/connections", {
      kind: "github",
      name: "GitHub",
      config: { owner: "example", authMethod: "token" },
      secrets: { token: "your token" },
    }),
  },
  { title: "ConnectionKind" },
);

const WidgetKind = Answer(
  {
    kind: OneOf(WIDGET_KINDS, { description: "What a new widget names" }),
    displayName: DisplayName("Expiring certificates timeline"),
    defaultSize: Answer(
      { width: Integer({ description: "Columns" }), height: Integer({ description: "Rows" }) },
      { description: "Its size without a position" },
    ),
    settings: JsonSchema("the settings"),
    example: Example("A body for POST …/core/widgets", { kind: "agent_health", title: "Agent health", settings: {} }),
  },
  { title: "WidgetKind" },
);

export const ConnectionKinds = Answer({ items: t.Array(ConnectionKind, { description: "All of them" }) }, { title: "ConnectionKinds" });
export const WidgetKinds = Answer({ items: t.Array(WidgetKind, { description: "All of them" }) }, { title: "WidgetKinds" });
