import type { Sql } from "../../db/connect";
import { auditEach, type Scope } from "../audit/queries";

/** The role of an active member, or undefined for anybody else. */
export async function memberRole(sql: Sql, organizationId: string, userId: string) {
  const [member] = await sql<{ role: "ORG_ADMIN" | "ORG_MEMBER" }[]>`
    select role from members where organization_id = ${organizationId} and user_id = ${userId} and status = 'active'`;
  return member?.role;
}

/** Makes a known user an active ORG_ADMIN; someone who is a member already stays as they are. */
export async function addAdmin(sql: Sql, scope: Scope, { userId, email }: { userId: string; email: string }) {
  await sql`
    with added as (
      insert into members (organization_id, id, user_id, email, role, status)
      values (${scope.organizationId}, ${Bun.randomUUIDv7()}, ${userId}, ${email.toLowerCase()}, 'ORG_ADMIN', 'active')
      on conflict do nothing returning id, email)
    ${auditEach(sql, scope, "member.added", "member", sql`select id, jsonb_build_object('email', email, 'role', 'ORG_ADMIN') from added`)}`;
}
