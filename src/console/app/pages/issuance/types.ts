import type { InOrganization, RowInOrganization } from "../../operations";
import type { Tone } from "../../parts/badge";

export type Issuer = RowInOrganization<["issuers"]>;
export const KINDS: Record<Issuer["kind"], string> = { acme: "ACME directory", internal: "Our own authority" };

export type Order = RowInOrganization<["certificate-requests"]>;
export type OrderWithSteps = InOrganization<["certificate-requests", string]>;

export const ORDER_TONES: Record<Order["status"], Tone> = {
  pending: "info",
  validating: "info",
  issuing: "info",
  issued: "good",
  failed: "bad",
  cancelled: "calm",
};

export const isOpen = ({ status }: Pick<Order, "status">) => status === "pending" || status === "validating" || status === "issuing";

export type Authority = RowInOrganization<["authorities"]>;
export type Profile = Authority["profiles"][number];
export const AUTHORITY_TONES: Record<Authority["status"], Tone> = { pending: "info", active: "good", disabled: "calm", expired: "bad", revoked: "bad" };

export type Policy = InOrganization<["issuance-policy"]>;
export type Proposal = NonNullable<Policy["proposal"]>;
export type Renewal = RowInOrganization<["renewals"]>;
export type Revocation = RowInOrganization<["revocations"]>;
