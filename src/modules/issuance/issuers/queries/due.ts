import type { Fragment, Sql } from "#db/connect";

/** Locks an issuer's row before those of its requests, so that what becomes due while requests are taken is seen. */
export async function lockIssuer(tx: Sql, organizationId: string, issuerId: string) {
  const [row] = await tx<{ kind: string; config: Record<string, unknown> }[]>`
    select kind, config from issuers where organization_id = ${organizationId} and id = ${issuerId} for no key update`;
  return row;
}

/**
 * Part of a writing statement: notes at the issuer of `row`, which yields (organization_id, issuer_id, due_at), when its next
 * request is due.
 */
export const wakeIssuer = (sql: Sql, row: Fragment) => sql`
  update issuers i set due_at = greatest(least(i.due_at, due.due_at), i.retry_at) from (${row}) as due (organization_id, issuer_id, due_at)
  where i.organization_id = due.organization_id and i.id = due.issuer_id and due.due_at is not null`;
