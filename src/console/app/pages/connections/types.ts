import type { OrganizationAddress, RowInOrganization } from "../../operations";

export type Connection = RowInOrganization<["core", "connections"]>;
export type ConnectionKind = RowInOrganization<["core", "connection-kinds"]>;
export type ConnectionAddress = OrganizationAddress<["core", "connections", string]>;
export type LastTest = NonNullable<Connection["lastTest"]>;
