import type { InOrganization, RowInOrganization } from "../../operations";

export type Widget = RowInOrganization<["core", "widgets"]>;
export type WidgetKind = RowInOrganization<["core", "widget-kinds"]>;
/** The data of those kinds of widgets that have a field like this. */
export type DataWith<Field> = Extract<InOrganization<["core", "widgets", string, "data"]>["data"], Field>;
export type Box = Widget["position"];
export type System = RowInOrganization<["ai-governance", "systems"]>;
