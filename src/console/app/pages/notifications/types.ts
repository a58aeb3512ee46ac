import type { InOrganization, OnServer, RowInOrganization } from "../../operations";

export type Route = RowInOrganization<["notification-routes"]>;
export type Target = Route["target"];
export type Delivery = RowInOrganization<["notification-routes", string, "deliveries"]>;
export type ExpiryPolicy = InOrganization<["certificates", "expiry-policy"]>;
export type Override = ExpiryPolicy["overrides"][number];
export type Threshold = ExpiryPolicy["thresholds"][number];
export type Preferences = OnServer<["users", "me", "notifications", "preferences"]>;
