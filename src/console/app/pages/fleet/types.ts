export type Labels = Record<string, string>;

type Host = { hostname?: string; operatingSystem?: string; platform?: string; architecture?: string; agentVersion?: string };

export type Agent = {
  id: string;
  name: string;
  labels: Labels;
  host: Host | null;
  lastSeenAt: string | null;
  access: "long-lived" | "key" | "none";
  accessEndsAt: string | null;
  credentialMisusedAt: string | null;
  heldSince: string | null;
  version: number;
  createdAt: string;
};

export type Deployment = {
  assignmentId: string;
  agentId: string;
  agentName: string;
  certificateId: string;
  commonName: string;
  applicationId: string;
  trustStoreType: string;
  enabled: boolean;
  policyId: string | null;
  removingSince: string | null;
  state: string;
  isAdrift: boolean;
  message: string | null;
  reportedAt: string | null;
  heldSince: string | null;
};

export type Summary = {
  deployments: { total: number; adrift: number; removing: number; byState: Record<string, number>; byStore: { trustStoreType: string; total: number }[] };
  agents: { total: number; online: number; late: number; silent: number };
  held: Record<string, number>;
  trustsUntil: string | null;
  oldestDrift: { assignmentId: string; agentId: string; since: string } | null;
};

export type JoinToken = {
  id: string;
  agentId: string | null;
  labels: Labels;
  maxUses: number;
  uses: number;
  expiresAt: string;
  version: number;
  createdAt: string;
};
export type NewJoinToken = JoinToken & { token: string };

export type Config = Record<string, string | boolean | string[]>;

export type Report = { state: string; observedFingerprint: string | null; message: string | null; reportedAt: string; observedAt: string | null };

export type Assignment = {
  id: string;
  agentId: string;
  applicationId: string;
  certificateId: string;
  commonName: string;
  trustStoreType: string;
  materialType: string;
  includePrivateKey: boolean;
  autoRenew: boolean;
  enabled: boolean;
  config: Config;
  keyOnHost: boolean;
  policyId: string | null;
  removingSince: string | null;
  heldSince: string | null;
  report: Report | null;
  history: Report[];
  version: number;
  createdAt: string;
  updatedAt: string;
};

export type Policy = {
  id: string;
  name: string | null;
  selector: string | null;
  applicationId: string;
  certificateId: string;
  trustStoreType: string;
  materialType: string;
  includePrivateKey: boolean;
  autoRenew: boolean;
  enabled: boolean;
  config: Config;
  state: "applying" | "applied" | "rolling_out" | "halted" | "rolling_back" | "rolled_back";
  rolloutId: string | null;
  heldSince: string | null;
  version: number;
  createdAt: string;
  updatedAt: string;
};

/** Which agents have what a policy gives, and on which something else has the place. */
export type Reach = {
  agents: number;
  conflicts: { total: number; items: { agentId: string; agentName: string; assignmentId: string | null; policyId: string | null }[] };
};

export type WholePolicy = Policy & Reach;
