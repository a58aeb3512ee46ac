import type { Facts } from "#crypto/stamps";
import type { Deps } from "#deps";
import { type AgentProof, isAgentProven } from "#modules/fleet/agent-access/queries/stamps";
import {
  type ApiTokenFacts,
  apiTokenFacts,
  type MemberFacts,
  memberFacts,
  notePlatformAdminUnproven,
  noteUnproven,
  platformAdminFacts,
  type StampedRow,
} from "#modules/people/roles/queries";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";

type StandingDeps = Pick<Deps, "sql" | "stamps" | "log">;

/** The role that a row gives: `unproven` where it is ORG_ADMIN, and no stamp proves that this server gave it. */
export type StandingRole = "ORG_ADMIN" | "ORG_MEMBER" | "unproven";

export const UNPROVEN_ADMIN = `The role ORG_ADMIN is held here: it ${UNPROVEN}. ${TO_TRUST}`;

/** Returns the role of a member. One that is unproven is logged and audited once. */
export const memberStanding = (needs: StandingDeps, row: StampedRow<MemberFacts>) => standingOf(needs, row, memberFacts(row.facts), "member");

/** Returns the role of an API token, as `memberStanding` does. */
export const apiTokenStanding = (needs: StandingDeps, row: StampedRow<ApiTokenFacts>) => standingOf(needs, row, apiTokenFacts(row.facts), "api-token");

type RoleRow = { organizationId: string; id: string; role: "ORG_ADMIN" | "ORG_MEMBER" };

async function standingOf(
  { sql, stamps, log }: StandingDeps,
  { facts, stamp, isUnproven }: StampedRow<RoleRow>,
  stamped: Facts,
  kind: "member" | "api-token",
): Promise<StandingRole> {
  if (facts.role !== "ORG_ADMIN") return facts.role;
  const holds = stamps.hold(stamp, stamped);
  if (holds === isUnproven && (await noteUnproven(sql, kind, facts, !holds)))
    log.error({ organizationId: facts.organizationId, ...(kind === "member" ? { memberId: facts.id } : { apiTokenId: facts.id }) }, explain(NAMES[kind]));
  return holds ? facts.role : "unproven";
}

const NAMES = { member: "member", "api-token": "API token" };

/** Returns whether the stamp of a platform admin proves it. One that is unproven is logged and audited once. */
export async function isStandingPlatformAdmin({ sql, stamps, log }: StandingDeps, { facts, stamp, isUnproven }: StampedRow<{ userId: string }>) {
  const holds = stamps.hold(stamp, platformAdminFacts(facts));
  if (holds === isUnproven && (await notePlatformAdminUnproven(sql, facts.userId, !holds))) log.error({ userId: facts.userId }, explain("platform admin"));
  return holds;
}

const explain = (what: string) =>
  `this ${what} counts as no admin: the row ${UNPROVEN}; look at it, and run certitude secrets trust where it is right (src/auth/README.md, "Admins are stamped")`;

const UNPROVEN_AGENT = `this agent is not let in: its row ${UNPROVEN}; make a join token for it, or look at it and run certitude secrets trust (src/auth/README.md)`;

/** Returns whether the stamp of an agent proves it. One that is unproven is logged and audited once. */
export async function isStandingAgent({ sql, stamps, log }: StandingDeps, proof: AgentProof) {
  const holds = isAgentProven(stamps, proof);
  const { organizationId, id } = proof.facts;
  if (holds === proof.isUnproven && (await noteUnproven(sql, "agent", proof.facts, !holds))) log.error({ organizationId, agentId: id }, UNPROVEN_AGENT);
  return holds;
}
