import type { Facts } from "#crypto/stamps";
import type { Deps } from "#deps";
import { type AgentProof, isAgentProven } from "#modules/fleet/agent-access/queries/stamps";
import {
  type ApiTokenFacts,
  apiTokenFacts,
  type Given,
  type MemberFacts,
  memberFacts,
  noteHeld,
  notePlatformAdminHeld,
  platformAdminFacts,
} from "#modules/people/roles/queries";
import { TO_TRUST, UNPROVEN } from "#modules/people/roles/rules";

type Needs = Pick<Deps, "sql" | "stamps" | "log">;

/** The role that a row gives: `held` where it is ORG_ADMIN, and no stamp proves that this server gave it. */
export type StandingRole = "ORG_ADMIN" | "ORG_MEMBER" | "held";

export const HELD = `The role ORG_ADMIN is held here: it ${UNPROVEN}. ${TO_TRUST}`;

/** Returns the role of a member. What is held is told once, by a log line and an audit event. */
export const memberStanding = (needs: Needs, row: Given<MemberFacts>) => standingOf(needs, row, memberFacts(row.facts), "member");

/** Returns the role of an API token, and tells what is held in the same way. */
export const apiTokenStanding = (needs: Needs, row: Given<ApiTokenFacts>) => standingOf(needs, row, apiTokenFacts(row.facts), "api-token");

type Row = { organizationId: string; id: string; role: "ORG_ADMIN" | "ORG_MEMBER" };

async function standingOf(
  { sql, stamps, log }: Needs,
  { facts, stamp, isHeld }: Given<Row>,
  stamped: Facts,
  kind: "member" | "api-token",
): Promise<StandingRole> {
  if (facts.role !== "ORG_ADMIN") return facts.role;
  const holds = stamps.hold(stamp, stamped);
  if (holds === isHeld && (await noteHeld(sql, kind, facts, !holds)))
    log.error({ organizationId: facts.organizationId, ...(kind === "member" ? { memberId: facts.id } : { apiTokenId: facts.id }) }, told(NAMES[kind]));
  return holds ? facts.role : "held";
}

const NAMES = { member: "member", "api-token": "API token" };

/** Returns true for a platform admin of the database, and tells what is held in the same way. */
export async function isStandingPlatformAdmin({ sql, stamps, log }: Needs, { facts, stamp, isHeld }: Given<{ userId: string }>) {
  const holds = stamps.hold(stamp, platformAdminFacts(facts));
  if (holds === isHeld && (await notePlatformAdminHeld(sql, facts.userId, !holds))) log.error({ userId: facts.userId }, told("platform admin"));
  return holds;
}

const told = (what: string) =>
  `this ${what} counts as no admin: the row ${UNPROVEN}; look at it, and run certitude secrets trust where it is right (src/auth/README.md, "Admins are stamped")`;

const HELD_AGENT = `this agent is not let in: its row ${UNPROVEN}; make a join token for it, or look at it and run certitude secrets trust (src/auth/README.md)`;

/** Returns true where a server gave the agent what lets it in, and tells what is held in the same way. */
export async function isStandingAgent({ sql, stamps, log }: Needs, proof: AgentProof) {
  const holds = isAgentProven(stamps, proof);
  const { organizationId, id } = proof.facts;
  if (holds === proof.isHeld && (await noteHeld(sql, "agent", proof.facts, !holds))) log.error({ organizationId, agentId: id }, HELD_AGENT);
  return holds;
}
