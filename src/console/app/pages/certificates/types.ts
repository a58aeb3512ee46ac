import type { InOrganization, RowInOrganization } from "../../operations";

export type Certificate = RowInOrganization<["certificates"]>;
export type CertificateWithPem = InOrganization<["certificates", string]>;

/** The dialog of an action with a certificate. */
export type ActionDialog = { of: Certificate; close: () => void; finish: (said: string) => void };
