import type { InOrganization, OrganizationAddress, RowInOrganization } from "../../operations";

export type Framework = RowInOrganization<["ai-governance", "frameworks"]>;
export type Control = RowInOrganization<["ai-governance", "frameworks", string, "controls"]>;
export type ControlWithHistory = InOrganization<["ai-governance", "frameworks", string, "controls", string]>;
export type ControlAddress = OrganizationAddress<["ai-governance", "frameworks", string, "controls", string]>;
export type Status = Control["status"];
export type Evidence = Control["evidence"][number];
export type ControlState = Pick<Control, "status" | "note" | "evidence" | "ownerId" | "dueDate">;

export const STATUSES = ["not_started", "in_progress", "implemented", "not_applicable"] as const satisfies Status[];

/** Writes a change; the status always goes with it. */
export type ChangeControl = (change: { [Name in keyof ControlState]?: unknown }) => Promise<void>;
