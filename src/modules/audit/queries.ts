import type { Fragment } from "postgres";
import type { Sql } from "../../db/connect";
import { LAST_ID } from "../../db/ids";

type Who = { type: "user" | "gateway" | "agent" | "ingest-key" | "worker" | "server" | "command-line"; id?: string; role?: "ORG_ADMIN" | "ORG_MEMBER" };
/** Who acted: a user, a trusted gateway by headers alone, an agent, a sender of metrics by its key, a worker, the server by itself, or the command line. */
export type Actor = Who & { via?: Who };
/** Where a write happens and who answers for it. */
export type Scope = { organizationId: string; actor: Actor; requestId: string | null };

/** Part of a writing statement: an audit event for each row of `targets`, which yields (id, details as jsonb). */
export const auditEach = (sql: Sql, { organizationId, actor, requestId }: Scope, action: string, targetType: string, targets: Fragment) => sql`
  insert into audit_events (organization_id, id, actor, action, target_type, target_id, request_id, details)
  select ${organizationId}, new_id(), ${JSON.stringify(actor)}::jsonb, ${action}, ${targetType}, target.id::text, ${requestId}, target.details
  from (${targets}) as target (id, details)`;

/** Newest first; one more than `limit`. */
export async function listAuditEvents(sql: Sql, organizationId: string, { limit, before }: { limit: number; before: string | undefined }) {
  const rows = await sql<{ id: string; json: string }[]>`
    select id, json_build_object('id', id, 'at', iso(at), 'actor', actor, 'action', action, 'targetType', target_type, 'targetId', target_id,
      'requestId', request_id, 'details', details)::text as json
    from audit_events where organization_id = ${organizationId} and id < ${before ?? LAST_ID}
    order by id desc limit ${limit + 1}`;
  return rows.map(({ id, json }) => ({ json, key: [id] }));
}
