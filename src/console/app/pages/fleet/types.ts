import type { InOrganization, RowInOrganization, Written } from "../../operations";

export type Agent = InOrganization<["agents", string]>;
export type Labels = Agent["labels"];
export type Assignment = InOrganization<["agents", string, "assignments", string]>;
export type Config = Assignment["config"];
export type Deployment = RowInOrganization<["deployments"]>;
export type Summary = InOrganization<["fleet", "summary"]>;
export type JoinToken = RowInOrganization<["join-tokens"]>;
export type NewJoinToken = Written<"POST", ["join-tokens"]>;
export type Policy = RowInOrganization<["assignment-policies"]>;
export type PolicyWithReach = InOrganization<["assignment-policies", string]>;
/** Which agents have what a policy gives, and on which something else has the place. */
export type Reach = Pick<PolicyWithReach, "agents" | "conflicts">;
export type Rollout = InOrganization<["rollouts", string]>;
export type ListedRollout = RowInOrganization<["rollouts"]>;
export type Ring = Rollout["rings"][number];
export type Store = RowInOrganization<["certs", "trust-store-catalog"]>;
