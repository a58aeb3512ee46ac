import type { ObjectSchema, Values } from "../../parts/fields";

export type Box = { x: number; y: number; width: number; height: number };

export type Widget = { id: string; kind: string; title: string; dashboard: string; settings: Values; position: Box; version: number };

export type WidgetKind = { kind: string; displayName: string; settings: ObjectSchema };
