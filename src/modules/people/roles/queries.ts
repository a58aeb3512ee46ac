import type { Facts, Stamp } from "#crypto/stamps";
import type { Sql } from "#db/connect";
import { audit, auditForPlatform } from "#modules/people/audit/queries";

export type Role = "ORG_ADMIN" | "ORG_MEMBER";
type OfOrganization = { organizationId: string; id: string; role: Role };
export type MemberFacts = OfOrganization & { userId: string | null; email: string; status: "invited" | "active" };
export type ApiTokenFacts = OfOrganization & { tokenHash: string; expiresAt: string | null };

/** A row that gives a role, with what its stamp must prove; `isUnproven` where it is known already that it does not. */
export type StampedRow<Kind> = { facts: Kind; stamp: Stamp; isUnproven: boolean };

/** The stamped facts of a member: a user's role, or the role of an invitation. */
export const memberFacts = (facts: MemberFacts): Facts => ["member", facts];
export const memberFactsJson = (sql: Sql) =>
  sql`json_build_object('organizationId', organization_id, 'id', id, 'userId', user_id, 'email', email, 'role', role, 'status', status)`;

/** The stamped facts of an API token: its role and its end. */
export const apiTokenFacts = (facts: ApiTokenFacts): Facts => ["api-token", facts];
export const apiTokenFactsJson = (sql: Sql) =>
  sql`json_build_object('organizationId', organization_id, 'id', id, 'tokenHash', encode(token_hash, 'hex'), 'role', role, 'expiresAt', iso(expires_at))`;

/** The stamped facts of a platform admin. */
export const platformAdminFacts = ({ userId }: { userId: string }): Facts => ["platform-admin", userId];
export const platformAdminFactsJson = (sql: Sql) => sql`case when platform_admin then json_build_object('userId', id) end`;

/** The name of what is held, in one row for each: what a notice, a summary and `doctor` count. */
export const unprovenOf = (sql: Sql, organizationId?: string) => {
  const of = organizationId === undefined ? sql`` : sql`and organization_id = ${organizationId}`;
  return sql`
    select organization_id, 'assignments' as what from assignments where held_since is not null ${of}
    union all select organization_id, 'policies' from assignment_policies where held_since is not null ${of}
    union all select organization_id, 'rollouts' from rollouts where held_since is not null ${of}
    union all select organization_id, 'agents' from agents where held_since is not null ${of}
    union all select organization_id, 'members' from members where held_since is not null ${of}
    union all select organization_id, 'apiTokens' from api_tokens where held_since is not null ${of}`;
};

const SERVER = { actor: { type: "server" as const }, requestId: null };

const TABLES = { member: "members", "api-token": "api_tokens", agent: "agents" };

/** Keeps whether a member, API token or agent is held, with an audit event when that begins. Returns true when it begins. */
export async function noteUnproven(sql: Sql, what: keyof typeof TABLES, { organizationId, id }: Omit<OfOrganization, "role">, isUnproven: boolean) {
  const rows = await sql`
    with noted as (
      update ${sql.text(TABLES[what])} set held_since = case when ${isUnproven} then now() end
      where organization_id = ${organizationId} and id = ${id} and (held_since is null) = ${isUnproven} returning id),
    audited as (${audit(sql, { ...SERVER, organizationId }, `${what}.held`, sql`select id, '{}'::jsonb from noted where ${isUnproven}`, what)})
    select from noted`;
  return isUnproven && rows.length > 0;
}

/** The same for a platform admin, in the platform's trail. */
export async function notePlatformAdminUnproven(sql: Sql, userId: string, isUnproven: boolean) {
  const rows = await sql`
    with noted as (
      update users set platform_admin_held_since = case when ${isUnproven} then now() end
      where id = ${userId} and (platform_admin_held_since is null) = ${isUnproven} returning id),
    audited as (${auditForPlatform(sql, SERVER, "platform-admin.held", sql`select id, '{}'::jsonb from noted where ${isUnproven}`, "user")})
    select from noted`;
  return isUnproven && rows.length > 0;
}
