import type { RowInOrganization } from "../../operations";

export type AuditEvent = RowInOrganization<["audit-events"]>;
export type Actor = AuditEvent["actor"];
