import { MAX_TEXT } from "#catalogue/fields";
import { exampleOf, toJsonSchema } from "#catalogue/json-schema";
import { WIDGETS } from "./kinds";

export const widgetKinds = WIDGETS.map(({ key: kind, displayName, settings, defaultSize }) => ({
  kind,
  displayName,
  defaultSize,
  settings: toJsonSchema(settings, MAX_TEXT),
  example: { kind, title: displayName, settings: exampleOf(settings) },
}));
