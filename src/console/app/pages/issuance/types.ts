import type { Tone } from "../../parts/badge";

export type Issuer = {
  id: string;
  kind: "acme" | "internal";
  name: string;
  config: Record<string, unknown>;
  secretNames: string[];
  experimentalProviders: string[];
  account: { url: string | null; thumbprint: string | null } | null;
  retryAt: string | null;
  lastTest: { outcome: "ok" | "failed"; message: string; testedAt: string } | null;
  version: number;
  createdAt: string;
  updatedAt: string;
};

export const KINDS: Record<Issuer["kind"], string> = { acme: "ACME directory", internal: "Our own authority" };

type OrderStatus = "pending" | "validating" | "issuing" | "issued" | "failed" | "cancelled";

export type Order = {
  id: string;
  issuerId: string;
  names: string[];
  key: { algorithm: string; location: string };
  deployment: { agentId?: string; trustStoreType?: string } | null;
  profile: string | null;
  autoRenew: boolean;
  renewAt: string | null;
  replaces: string | null;
  status: OrderStatus;
  approval: "none" | "awaited" | "given" | "refused";
  reason: string | null;
  certificateId: string | null;
  nextAttemptAt: string | null;
  version: number;
  createdAt: string;
  endedAt: string | null;
};
export type OrderWithSteps = Order & { steps: { status: OrderStatus; reason: string | null; at: string }[] };

export const ORDER_TONES: Record<OrderStatus, Tone> = {
  pending: "info",
  validating: "info",
  issuing: "info",
  issued: "good",
  failed: "bad",
  cancelled: "calm",
};

export const isOpen = ({ status }: Pick<Order, "status">) => status === "pending" || status === "validating" || status === "issuing";

type AuthorityStatus = "pending" | "active" | "disabled" | "expired" | "revoked";
export type Profile = {
  name: string;
  usage: string;
  defaultLifetimeSeconds: number;
  maxLifetimeSeconds: number;
  allowedDomains: string[] | null;
  allowedAddresses: string[] | null;
  allowsWildcards: boolean;
};
export type Authority = {
  id: string;
  name: string;
  kind: "root" | "issuing";
  status: AuthorityStatus;
  parentId: string | null;
  subject: string;
  keyAlgorithm: string;
  certificateId: string | null;
  certificatePem: string | null;
  requestPem: string | null;
  pathLength: number | null;
  notBefore: string | null;
  notAfter: string | null;
  profiles: Profile[];
  publicUrl: string;
  certificateUrl: string;
  crlUrl: string;
  ocspUrl: string;
  version: number;
  createdAt: string;
};

export const AUTHORITY_TONES: Record<AuthorityStatus, Tone> = { pending: "info", active: "good", disabled: "calm", expired: "bad", revoked: "bad" };
