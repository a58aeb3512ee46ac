import type { InOrganization, RowInOrganization, Written } from "../../operations";

export type Organization = InOrganization<[]>;
export type Invitation = NonNullable<Written<"POST", ["members"]>["invitation"]>;
export type ApiToken = RowInOrganization<["api-tokens"]>;
