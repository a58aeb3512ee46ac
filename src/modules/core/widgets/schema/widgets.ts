import { Kind, Type, TypeRegistry } from "@sinclair/typebox";
import { t } from "elysia";
import { Answer, Body, CreatedAt, DateTime, Id, Integer, OneOf, OrganizationId, Text, UpdatedAt, Version } from "#http/schema";
import { COLUMNS, MAX_HEIGHT, MAX_Y } from "../rules/grid";
import { widgetKinds } from "../rules/kind-schemas";
import { KINDS } from "../rules/kinds";
import { Shape } from "./shapes";

const EXAMPLE_SETTINGS = { horizonDays: 30 };
const EXAMPLE_DATA = { bucket: "week", expired: 0, buckets: [{ start: "2030-01-28T00:00:00.000Z", count: 3 }] };

const WidgetKind = OneOf(KINDS, { description: "What it shows; the kind says which settings it has", examples: ["expiring_certificates_timeline"] });
const Title = Text({ description: "What stands above it", examples: ["What expires this month"] });
const Settings = (description: string, example: object) => t.Record(t.String(), t.Unknown(), { description, examples: [example] });

/** A name that fits into an address and into a cursor as it is. */
export const DASHBOARD_PART = /^[\p{L}\p{N}]([\p{L}\p{N} ._-]{0,48}[\p{L}\p{N}])?$/u;
TypeRegistry.Set("DashboardName", (_, value) => typeof value === "string" && DASHBOARD_PART.test(value));
export const Dashboard = Type.Unsafe<string>({
  [Kind]: "DashboardName",
  type: "string",
  minLength: 1,
  maxLength: 50,
  description: "must be 1 to 50 letters, digits, spaces, dots, hyphens and underscores, and begin and end with a letter or digit",
  examples: ["main"],
});

const position = {
  x: Integer({ minimum: 0, maximum: COLUMNS - 1, description: `Column, of ${COLUMNS}`, examples: [0] }),
  y: Integer({ minimum: 0, maximum: MAX_Y, description: "Row", examples: [0] }),
  width: Integer({ minimum: 1, maximum: COLUMNS, description: "Columns", examples: [6] }),
  height: Integer({ minimum: 1, maximum: MAX_HEIGHT, description: "Rows", examples: [4] }),
};

export const NewWidget = Body(
  {
    kind: WidgetKind,
    title: Title,
    settings: t.Optional(Settings("The kind's settings", EXAMPLE_SETTINGS)),
    dashboard: t.Optional(Dashboard),
    position: t.Optional(Body(position, { description: "Without one it goes below the last widget, in its kind's own size" })),
  },
  { title: "NewWidget", kinds: widgetKinds },
);

export const WidgetPatch = Body(
  {
    title: t.Optional(Title),
    settings: t.Optional(Settings("JSON merge patch of the settings: null removes one", { horizonDays: 60, issuer: null })),
    dashboard: t.Optional(Dashboard),
    position: t.Optional(t.Partial(Body(position), { additionalProperties: false, minProperties: 1, description: "What it does not name stays" })),
  },
  { title: "WidgetPatch", minProperties: 1 },
);

export const Widget = Answer(
  {
    id: Id,
    organizationId: OrganizationId,
    kind: WidgetKind,
    title: t.String({ description: "What stands above it", examples: ["What expires this month"] }),
    dashboard: t.String({ description: "The dashboard that it is on", examples: ["main"] }),
    settings: Settings("Defaults included", { horizonDays: 30, bucket: "week", includeExpired: true, refreshSeconds: 300 }),
    position: Answer(position, { description: "Where it is on the grid, from the upper left" }),
    version: Version,
    createdAt: CreatedAt,
    updatedAt: UpdatedAt,
  },
  { title: "Widget" },
);

export const WidgetData = Answer(
  {
    kind: WidgetKind,
    generatedAt: { ...DateTime, description: "When the data was read" },
    data: { ...Shape, description: "Its shape depends on the kind", examples: [EXAMPLE_DATA] },
  },
  { title: "WidgetData" },
);
